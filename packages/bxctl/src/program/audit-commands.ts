/** `bxctl audit …` and `bxctl why`: the record of what was decided and done. */
import type { Command } from "commander";
import type { FilterFlags } from "../audit/audit-command.ts";
import type { CommandLine } from "./command-line.ts";

interface ShowFlags extends FilterFlags {
  readonly json?: boolean;
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
    .add(audit, "verify", "whether the log's chain is whole, read from disk", "bxctl audit verify")
    .action(async (_flags: object, command: Command) => {
      const { verifyAudit } = await import("../audit/verify-audit.ts");
      const { out } = await line.screens();
      line.finish(await verifyAudit(line.placesOf(command).audit, { write: (text) => out.raw(text) }));
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
        const places = line.placesOf(command);
        line.finish(await explainRecord({ directory: places.audit, places, json, ...(await line.screens()) }, record));
      });
  }
}
