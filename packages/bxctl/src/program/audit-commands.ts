/** `bxctl audit …` and `bxctl why`: the record of what was decided and done. */
import type { Command } from "commander";
import type { FilterFlags } from "../audit/audit-command.ts";
import type { ClaimFlags } from "../audit/checkpoint-claim.ts";
import type { CommandLine } from "./command-line.ts";

interface ShowFlags extends FilterFlags {
  readonly json?: boolean;
}

interface VerifyFlags extends ClaimFlags {
  readonly json?: boolean;
  readonly maxAge?: string;
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function withFilters(command: Command): Command {
  return command
    .option("--session <id>", "only what belongs to this session")
    .option("--tool <name>", "only what belongs to calls of this tool")
    .option("--denied", "only what didn't run: denials, refusals, approvals that came to nothing")
    .option("--since <time>", "only what is not older: 2h, 7d, 2027-01-31, 2027-01-31T18:00")
    .option("--json", "the records themselves, one a line");
}

export function addAuditCommands(line: CommandLine): void {
  const audit = line.group("audit", "the record of everything that was decided and done");

  line
    .add(
      audit,
      "verify",
      "whether the log is whole, read from disk, and holds what a checkpoint signs",
      'bxctl audit verify --checkpoint kept.note --key "$(cat kept.key)"',
    )
    .option(
      "--checkpoint <file>",
      "a checkpoint that was kept somewhere else (without it, with --key: the newest one beside the log)",
    )
    .option("--key <key>", "the public key that has to have signed it; may be given again", collect, [])
    .option("--max-age <span>", "stale, status 1, where neither a record nor a day's checkpoint is younger: 25h, 7d")
    .option("--json", "one line of JSON")
    .action(async ({ json = false, ...flags }: VerifyFlags, command: Command) => {
      const directory = line.placesOf(command).audit;
      const { StretchThreads } = await import("../audit/stretch-threads.ts");
      await using threads = await StretchThreads.startFor(directory);
      const { runVerify } = await import("../audit/run-verify.ts");
      line.finish(await runVerify({ directory, json, ...(await line.screens()) }, flags, threads));
    });

  for (const { name, description, example } of [
    {
      name: "checkpoint",
      description: "the newest signed checkpoint, to be kept somewhere else",
      example: "bxctl audit checkpoint >kept.note",
    },
    {
      name: "key",
      description: "the public key that signs checkpoints, to be kept somewhere else",
      example: "bxctl audit key >kept.key",
    },
  ] as const) {
    line
      .add(audit, name, description, example)
      .option("--json", "one line of JSON")
      .action(async ({ json = false }: ShowFlags, command: Command) => {
        const { showCheckpoint, showKey } = await import("../audit/show-checkpoint.ts");
        const show = name === "checkpoint" ? showCheckpoint : showKey;
        line.finish(await show({ directory: line.placesOf(command).audit, json, ...(await line.screens()) }));
      });
  }

  line
    .add(
      audit,
      "prove <record>",
      "a proof that the log holds this record, for somebody who hasn't got the log",
      "bxctl audit prove 41 >41.tlog-proof",
    )
    .option("--json", "one line of JSON")
    .action(async (record: string, { json = false }: ShowFlags, command: Command) => {
      const { proveRecord } = await import("../audit/prove-record.ts");
      line.finish(await proveRecord({ directory: line.placesOf(command).audit, json, ...(await line.screens()) }, record));
    });

  line
    .add(
      audit,
      "check-proof <proof> <record>",
      "whether such a proof shows this record, whose line is in a file: needs no log",
      'bxctl audit check-proof 41.tlog-proof 41.json --key "$(cat kept.key)"',
    )
    .option("--key <key>", "the public key that has to have signed it; may be given again", collect, [])
    .option("--json", "one line of JSON")
    .action(async (proof: string, record: string, { json = false, key }: VerifyFlags) => {
      const { checkProof } = await import("../audit/check-proof.ts");
      line.finish(await checkProof({ json, ...(await line.screens()) }, { proof, record, key }));
    });

  withFilters(line.add(audit, "show", "the log, read from disk, a line a record", "bxctl audit show --denied --since 7d")).action(
    async ({ json = false, ...flags }: ShowFlags, command: Command) => {
      const { showRecords } = await import("../audit/show-records.ts");
      const { audit: directory } = line.placesOf(command);
      line.finish(await showRecords({ directory, json, ...(await line.screens()) }, flags));
    },
  );

  withFilters(
    line.add(audit, "tail", "the last records, and each new one until Ctrl-C", "bxctl audit tail --session holidays"),
  ).action(async ({ json = false, ...flags }: ShowFlags, command: Command) => {
    const { tailRecords } = await import("../audit/tail-records.ts");
    const { audit: directory } = line.placesOf(command);
    const stop = new AbortController();
    using _interrupts = line.io.onInterrupt(() => stop.abort());
    line.finish(await tailRecords({ directory, json, ...(await line.screens()) }, flags, stop.signal));
  });

  for (const [parent, example] of [
    [line.root, "bxctl why 41"],
    [audit, "bxctl audit why 41"],
  ] as const) {
    line
      .add(
        parent,
        "why <record>",
        "a past decision: by which rule and line, what the session had seen, who approved, what would have passed",
        example,
      )
      .option("--json", "one line of JSON")
      .action(async (record: string, { json = false }: ShowFlags, command: Command) => {
        const { explainRecord } = await import("../audit/explain-record.ts");
        line.finish(await explainRecord({ directory: line.placesOf(command).audit, json, ...(await line.screens()) }, record));
      });
  }
}
