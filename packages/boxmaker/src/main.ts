#!/usr/bin/env node
/** The boxmaker program: commands, signals, exit codes. */
import { openLinePrinter } from "@boxmaker/edge/log";
import { escapeLayoutText, RuntimeName } from "@boxmaker/proto";
import { Command, CommanderError, Option } from "commander";

const VERSION = "0.1.0";

const stop = new AbortController();

const print = openLinePrinter((text) => process.stderr.write(text));

let chatting = false;

/** Ctrl-C belongs to the chat while there is one: it cancels the turn, and a second one leaves. */
function listenToSignals(): void {
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  process.on("SIGINT", () => {
    if (!chatting) stop.abort();
  });
}

function program(): Command {
  const root = new Command("boxmaker")
    .description("Starts and watches the roles of a box on this machine.")
    .version(VERSION)
    .exitOverride()
    .configureOutput({ writeErr: (text) => void process.stderr.write(escapeLayoutText(text).replace(/^error: /u, "boxmaker: ")) });

  root
    .command("try")
    .description(
      "a whole box for one chat: sample notes and grants, the best sandbox and model server found, a verified log at the end",
    )
    .option("--home <dir>", "where the box keeps everything", "boxmaker-try")
    .option("--say <text>", "one turn with this text, then the end; the answer goes to standard output")
    .option("--session <id>", "go on with this session, or start it")
    .option("--json", "with --say: events as JSON lines on standard error", false)
    .option("--model <url>", "the model server, or `demo` for the built-in stand-in")
    .addOption(new Option("--runtime <name>", "how tools run").choices(RuntimeName.options.filter((name) => name !== "refusing")))
    .addHelpText("after", '\nExample:\n  boxmaker try --say "read the file todo.md in my notes"')
    .action(async (options: Record<string, unknown>) => {
      const { tryBox } = await import("./try/try-box.ts");
      const text = (name: string): string | undefined => {
        const value = options[name];
        return typeof value === "string" ? value : undefined;
      };
      const runtime = RuntimeName.safeParse(options["runtime"]);
      listenToSignals();
      process.exitCode = await tryBox({
        home: text("home") ?? "boxmaker-try",
        say: text("say"),
        session: text("session"),
        json: options["json"] === true,
        model: text("model"),
        runtime: runtime.success ? runtime.data : undefined,
        stop: stop.signal,
        isInteractive: process.stdin.isTTY && process.stderr.isTTY,
        onChat: (running) => {
          chatting = running;
        },
        print,
      });
    });

  root
    .command("doctor")
    .description("looks whether all that a box needs is there, one line each with what to do; exit 1 when something failed")
    .option("--home <dir>", "where the box keeps everything", process.env["BOXMAKER_HOME"] ?? "/var/lib/boxmaker")
    .option("--config <file>", "brokerd's configuration (default: etc/brokerd.toml in the home)")
    .option("--attack", "really try to get out of a sandbox of the configured kind, in a place of its own", false)
    .option("--json", "one line of JSON for each", false)
    .addHelpText("after", "\nExample:\n  boxmaker doctor --home boxmaker-try --attack")
    .action(async (options: Record<string, unknown>) => {
      const { doctor } = await import("./doctor/doctor.ts");
      listenToSignals();
      process.exitCode = await doctor({
        config: typeof options["config"] === "string" ? options["config"] : undefined,
        home: String(options["home"]),
        attack: options["attack"] === true,
        json: options["json"] === true,
        stop: stop.signal,
        write: (text) => process.stdout.write(escapeLayoutText(text)),
      });
    });

  const image = root.command("image").description("the image that podman runs tools in");
  image
    .command("build")
    .description("builds the tools image from this machine's Debian packages, without a container registry, and prints its id")
    .addHelpText("after", "\nExample:\n  boxmaker image build")
    .action(async () => {
      const { buildImage } = await import("./image/build-image.ts");
      const built = await buildImage({});
      if (built.kind === "built") process.stdout.write(escapeLayoutText(`${built.reference}\n`));
      else {
        print(`boxmaker: ${built.problem}`);
        process.exitCode = 1;
      }
    });
  image
    .command("check")
    .description("looks whether an image has all that a box needs and nothing that makes a box weaker; exit 1 when it hasn't")
    .argument("[image]", "as podman names it, best by its id; default: the one that was built with this toolkit")
    .option("--json", "one line of JSON", false)
    .addHelpText("after", "\nExample:\n  boxmaker image check sha256:4f5c…")
    .action(async (name: string | undefined, options: Record<string, unknown>) => {
      const { checkImage, showImageCheck } = await import("./image/check-image.ts");
      const check = await checkImage({ image: name });
      const shown = showImageCheck(check, options["json"] === true);
      process.stdout.write(escapeLayoutText(shown.output));
      for (const line of shown.problems) print(`boxmaker: ${line}`);
      process.exitCode = shown.status;
    });
  return root;
}

process.umask(0o077);
try {
  await program().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
