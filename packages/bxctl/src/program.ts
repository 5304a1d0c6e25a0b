/** The command line: what there is, what each takes, and which module does it. Those are loaded when they are needed. */
import { type Command, CommanderError } from "commander";
import type { PlaceFlags } from "./box/places.ts";
import type { ExitStatus, ProcessIo } from "./process-io.ts";
import { addAuditCommands } from "./program/audit-commands.ts";
import { CommandLine } from "./program/command-line.ts";
import { addGrantsCommands } from "./program/grants-commands.ts";
import { addSessionCommands } from "./program/session-commands.ts";

const VERSION = "0.1.0";

interface Flags extends PlaceFlags {
  readonly session?: string;
  readonly say?: string;
  readonly json?: boolean;
  readonly otlp?: boolean;
  readonly reason?: string;
  readonly digest?: string;
  readonly uses?: string;
  readonly expires?: string;
}

/** Builds the commands. `finish` is told what each came to. */
function buildProgram(io: ProcessIo, finish: (status: ExitStatus) => void): Command {
  const line = new CommandLine(io, VERSION, finish);
  const { root } = line;

  line
    .add(
      root,
      "chat",
      "a conversation, or with --say one turn of it",
      'bxctl chat --session holidays --say "where did we want to go?"',
    )
    .option("--session <id>", "go on with this session, or start it where it doesn't exist")
    .option("--say <text>", "one turn: the answer goes to standard output, what happens to standard error; never asks")
    .option("--json", "each event and the end of a turn as one line of JSON on standard error; never asks")
    .action(async ({ session, say, json = false }: Flags, command: Command) => {
      const { chat } = await import("./chat/chat-command.ts");
      finish(await chat({ session, say, json }, line.placesOf(command), io));
    });

  line
    .add(root, "sessions", "the conversations there are", "bxctl sessions --json")
    .option("--json", "one line of JSON")
    .action(async ({ json = false }: Flags, command: Command) => {
      const { listSessions } = await import("./box/box-commands.ts");
      finish(await listSessions({ places: line.placesOf(command), json, ...(await line.screens()) }));
    });

  addSessionCommands(line);

  line
    .add(root, "approvals", "every call that waits for you, whole", "bxctl approvals")
    .option("--json", "one line of JSON")
    .action(async ({ json = false }: Flags, command: Command) => {
      const { listApprovals } = await import("./approvals/approval-commands.ts");
      const places = line.placesOf(command);
      finish(await listApprovals({ socket: places.adminSocket, ...(await line.screens()) }, json, places));
    });

  line
    .add(root, "approve <id>", "shows a waiting call, asks whether it may run, and lets it", "bxctl approve 41")
    .option("--digest <hash>", "doesn't ask, and only if this is still the digest, as bxctl approvals showed it")
    .option("--uses <n>", "also writes a grant for this very call, for so many more times")
    .option("--expires <time>", "also writes a grant for this very call, until then: 2h, 7d, 2027-01-31")
    .option("--json", "one line of JSON; needs --digest, since nothing is shown before")
    .action(async (id: string, { digest, uses, expires, json = false }: Flags, command: Command) => {
      const { approveCommand } = await import("./approvals/approval-commands.ts");
      const { confirmAtTerminal } = await import("./approvals/confirm-approval.ts");
      const at = { places: line.placesOf(command), json, ...(await line.screens()) };
      finish(await approveCommand(at, id, { digest, uses, expires }, confirmAtTerminal(io)));
    });

  line
    .add(root, "refuse <id>", "refuses a waiting call", 'bxctl refuse 41 --reason "not that folder"')
    .option("--reason <text>", "recorded with the refusal")
    .option("--json", "one line of JSON")
    .action(async (id: string, { reason, json = false }: Flags, command: Command) => {
      const { refuseCommand } = await import("./approvals/approval-commands.ts");
      const at = { socket: line.placesOf(command).adminSocket, ...(await line.screens()) };
      finish(await refuseCommand(at, id, reason, json));
    });

  addGrantsCommands(line);
  addAuditCommands(line);

  line
    .add(root, "status", "whether the box is up, and what it is doing", "bxctl status")
    .option("--json", "one line of JSON")
    .option("--otlp", "brokerd's metrics as one line of OpenTelemetry's JSON (OTLP), for a collector's /v1/metrics")
    .action(async ({ json = false, otlp = false }: Flags, command: Command) => {
      const { showMetrics, showStatus } = await import("./box/show-status.ts");
      const at = { places: line.placesOf(command), ...(await line.screens()) };
      finish(await (otlp ? showMetrics(at) : showStatus({ ...at, json })));
    });

  return root;
}

/** Runs one command line, without the words that name the program. Never rejects but for a bug. */
export async function runProgram(words: readonly string[], io: ProcessIo): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  let complaint = "";
  const root = buildProgram(io, (came) => {
    status = came;
  });
  const configure = (command: Command): void => {
    command.exitOverride().configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => {
        complaint += text;
      },
    });
    command.commands.forEach(configure);
  };
  configure(root);
  try {
    await root.parseAsync([...words], { from: "user" });
    return status;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // It quotes the command line, which a script may have put together from anything.
    const { escapeLayoutText } = await import("@boxmaker/proto");
    io.stderr.write(escapeLayoutText(complaint).replace(/^error: /u, "bxctl: "));
    return 2;
  }
}
