/** `bxctl session …` and `bxctl label …`: what a session has seen, and what boxes left on paths. */
import type { Command } from "commander";
import type { BoxCommand } from "../box/box-commands.ts";
import type { CommandLine } from "./command-line.ts";

interface Flags {
  readonly json?: boolean;
  readonly to: string;
  readonly format: string;
}

const JSON_FLAG = ["--json", "one line of JSON"] as const;

export function addSessionCommands(line: CommandLine): void {
  const at = async ({ json = false }: Partial<Flags>, command: Command): Promise<BoxCommand> => ({
    places: line.placesOf(command),
    json,
    ...(await line.screens()),
  });

  const session = line.group("session", "one conversation");
  line
    .add(
      session,
      "show <id>",
      "what a session has seen, which calls raised it, what is still auto and what now asks",
      "bxctl session show holidays",
    )
    .option(...JSON_FLAG)
    .action(async (id: string, flags: Partial<Flags>, command: Command) => {
      const { showSession } = await import("../box/session-commands.ts");
      line.finish(await showSession(await at(flags, command), id));
    });
  line
    .add(
      session,
      "rewind <id>",
      "a new session with the first turns of this one, and with what it had seen by then",
      "bxctl session rewind holidays --to 3",
    )
    .requiredOption("--to <turn>", "how many turns are kept, 0 or more")
    .option(...JSON_FLAG)
    .action(async (id: string, flags: Flags, command: Command) => {
      const { rewindSession } = await import("../box/session-commands.ts");
      line.finish(await rewindSession(await at(flags, command), id, flags.to));
    });

  line
    .add(
      session,
      "export <id>",
      "the whole conversation from its logs; what anybody wrote stays inside its block",
      "bxctl session export holidays > holidays.md",
    )
    .option("--format <format>", "markdown or json", "markdown")
    .action(async (id: string, { format }: Flags, command: Command) => {
      const { exportSession } = await import("../sessions/export-session.ts");
      const { systemClock } = await import("@boxmaker/edge/log");
      line.finish(await exportSession({ places: line.placesOf(command), ...(await line.screens()) }, id, format, systemClock));
    });

  const label = line.group("label", "what boxes left on paths: what is written there counts as what its session had seen");
  line
    .add(label, "show <path>", "the labels of a path, above it and below it", "bxctl label show /home/me/notes")
    .option(...JSON_FLAG)
    .action(async (path: string, flags: Partial<Flags>, command: Command) => {
      const { showLabel } = await import("../box/label-commands.ts");
      line.finish(await showLabel(await at(flags, command), path));
    });
  line
    .add(
      label,
      "reset <path>",
      "takes back the labels of a path and of all below it, on record",
      "bxctl label reset /home/me/notes/a.md",
    )
    .option(...JSON_FLAG)
    .action(async (path: string, flags: Partial<Flags>, command: Command) => {
      const { resetLabel } = await import("../box/label-commands.ts");
      line.finish(await resetLabel(await at(flags, command), path));
    });
}
