/** `bxctl grants …`: what the model may do, asked in every way. */
import type { Command } from "commander";
import type { GrantsCommand } from "../grants/grants-command.ts";
import type { CommandLine } from "./command-line.ts";

interface Flags {
  readonly json?: boolean;
  readonly grants?: string;
  readonly session?: string;
  readonly taint?: string;
  readonly untrusted?: boolean;
  readonly failOnWider?: boolean;
  readonly with?: string;
  readonly since?: string;
}

const JSON_FLAG = ["--json", "one line of JSON"] as const;
const GRANTS_FLAG = ["--grants <dir>", "another grants directory than the box's own"] as const;

export function addGrantsCommands(line: CommandLine): void {
  const grants = line.group("grants", "what the model may do");
  const at = async ({ json = false }: Flags, command: Command): Promise<GrantsCommand> => ({
    places: line.placesOf(command),
    json,
    ...(await line.screens()),
  });

  line
    .add(grants, "check", "whether brokerd can use the grants as they are on disk", "bxctl grants check")
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { checkGrants } = await import("../box/box-commands.ts");
      line.finish(await checkGrants(await at(flags, command)));
    });

  line
    .add(grants, "list", "each grant: when it was used, and what is odd about it", "bxctl grants list")
    .option(...GRANTS_FLAG)
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { listGrants } = await import("../grants/show-grants.ts");
      line.finish(await listGrants(await at(flags, command), flags));
    });

  line
    .add(
      grants,
      "show",
      "what the model can do now: each tool and target, auto, ask or gone",
      "bxctl grants show --session holidays",
    )
    .option("--session <id>", "in this session, by what it has seen; a new one unless given")
    .option(...GRANTS_FLAG)
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { showPowers } = await import("../grants/show-grants.ts");
      line.finish(await showPowers(await at(flags, command), flags));
    });

  line
    .add(
      grants,
      "explain <tool> [arguments...]",
      "what a call would come to, and why; status 0 allowed, 10 asks, 20 denied",
      "bxctl grants explain write_file path=/home/me/notes/a.md content=x --taint private",
    )
    .option("--session <id>", "in this session, by what it has seen; a new one unless given")
    .option("--taint <class>", "in a session that has seen data of this class: public, private, secret")
    .option("--untrusted", "in a session that has read text of strangers")
    .option(...JSON_FLAG)
    .action(async (tool: string, words: readonly string[], flags: Flags, command: Command) => {
      const { explainCall } = await import("../grants/explain-call.ts");
      line.finish(await explainCall(await at(flags, command), tool, words, flags));
    });

  line
    .add(
      grants,
      "verify",
      "proves the theorems of policy for these grants, or shows the shortest way to break one",
      "bxctl grants verify",
    )
    .option(...GRANTS_FLAG)
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { verifyGrants } = await import("../grants/verify-grants.ts");
      line.finish(await verifyGrants(await at(flags, command), flags.grants));
    });

  line
    .add(grants, "test <file>", "a table of calls and what you expect of them", "bxctl grants test etc/cases.toml")
    .option(...GRANTS_FLAG)
    .option(...JSON_FLAG)
    .action(async (file: string, flags: Flags, command: Command) => {
      const { testGrants } = await import("../grants/test-grants.ts");
      line.finish(await testGrants(await at(flags, command), file, flags.grants));
    });

  line
    .add(
      grants,
      "diff <old> <new>",
      "what two grants directories decide differently",
      "bxctl grants diff /tmp/before etc/grants --fail-on-wider",
    )
    .option("--fail-on-wider", "status 1 where a call gets more by the new ones")
    .option(...JSON_FLAG)
    .action(async (before: string, after: string, flags: Flags, command: Command) => {
      const { diffGrants } = await import("../grants/diff-grants.ts");
      line.finish(await diffGrants(await at(flags, command), before, after, flags.failOnWider === true));
    });

  line
    .add(
      grants,
      "replay",
      "the audit log decided again by other grants: what would have changed; without --with, whether it follows from its own inputs",
      "bxctl grants replay --with /tmp/new-grants --since 30d",
    )
    .option("--with <dir>", "decide by the grants in this directory")
    .option("--since <time>", "only decisions that are not older: 2h, 7d, 2027-01-31")
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { replayGrants } = await import("../grants/replay-grants.ts");
      line.finish(await replayGrants(await at(flags, command), flags));
    });

  line
    .add(
      grants,
      "suggest",
      "grants that the log speaks for, as TOML to review: what they would have let run, and what else",
      "bxctl grants suggest --since 30d",
    )
    .option("--since <time>", "by records that are not older: 2h, 7d, 2027-01-31")
    .option(...JSON_FLAG)
    .action(async (flags: Flags, command: Command) => {
      const { suggestGrants } = await import("../grants/suggest-grants.ts");
      line.finish(await suggestGrants(await at(flags, command), flags));
    });
}
