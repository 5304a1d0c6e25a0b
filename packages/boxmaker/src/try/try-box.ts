/** `boxmaker try`: a whole box on this machine for one chat, and a verified log at its end. */
import { spawn } from "node:child_process";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "@boxmaker/edge/log";
import { escapeText, quoteText, type RuntimeName, SessionId } from "@boxmaker/proto";
import { hasRoomForSockets, type Layout, layoutOf } from "../home/layout.ts";
import { lockHome } from "../home/lock-socket.ts";
import { makeHome } from "../home/make-home.ts";
import { statusOfSignal, terminalProgram } from "../roles/role-program.ts";
import { Supervisor } from "../roles/supervisor.ts";
import { startBox } from "./start-box.ts";

export interface TryOptions {
  readonly home: string;
  readonly say: string | undefined;
  readonly session: string | undefined;
  readonly json: boolean;
  readonly model: string | undefined;
  readonly runtime: RuntimeName | undefined;
  /** Aborts when boxmaker is told to end. */
  readonly stop: AbortSignal;
  /** Told when the chat begins and ends: while it runs, Ctrl-C is the chat's. */
  readonly onChat: (running: boolean) => void;
  /** Whether the chat draws on a terminal that a line from elsewhere would spoil. */
  readonly isInteractive: boolean;
  /** Writes one line to standard error. */
  readonly print: (line: string) => void;
}

/** Lines about roles that are kept for after a chat on the terminal; all of them are in roles.log. */
const MAX_HELD = 20;

const STDERR = 2;

/**
 * Runs bxctl on the owner's terminal and waits for its end.
 *
 * @param stdout where its standard output goes: with `--say`, ours carries the answer and nothing else
 * @returns its exit status
 */
async function onTerminal(args: readonly string[], stdout: "inherit" | typeof STDERR, stop: AbortSignal): Promise<number> {
  const program = terminalProgram("bxctl", args);
  const child = spawn(program.command, program.args, { env: program.env, stdio: ["inherit", stdout, "inherit"] });
  const end = (): void => void child.kill("SIGTERM");
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  try {
    return await new Promise<number>((settle, fail) => {
      child.once("error", fail);
      child.once("close", (code, signal) => settle(code ?? (signal === null ? 1 : statusOfSignal(signal))));
    });
  } finally {
    stop.removeEventListener("abort", end);
  }
}

/**
 * Runs the box until the chat ends or `stop` aborts, stops every role, and verifies the log.
 *
 * @returns the exit status: the chat's own, 1 where the box didn't start or the log doesn't verify, 2 for a session that can't be
 */
export async function tryBox(options: TryOptions): Promise<number> {
  const { print, session } = options;
  if (session !== undefined && !SessionId.safeParse(session).success) {
    print(`boxmaker: ${quoteText(session)} is no session id: expected lower-case letters, digits and "-", at most 64`);
    return 2;
  }
  const home = resolve(options.home);
  const run = hasRoomForSockets(home) ? undefined : await mkdtemp(join(tmpdir(), "boxmaker-"));
  try {
    const result = layoutOf(home, run);
    if (result.kind === "invalid") {
      print(`boxmaker: ${result.problem}; see docs/runbook.md#home-invalid`);
      return 1;
    }
    return await runBox(options, result.layout);
  } finally {
    if (run !== undefined) await rm(run, { recursive: true, force: true });
  }
}

async function runBox(options: TryOptions, layout: Layout): Promise<number> {
  const { print, stop } = options;
  const making = await makeHome(layout);
  if (making.kind === "refused") {
    print(`boxmaker: ${making.problem}; see docs/runbook.md#home-invalid`);
    return 1;
  }
  const locking = await lockHome(layout.home);
  if (locking.kind === "held") {
    print(
      `boxmaker: a box runs in ${quoteText(layout.home)} already: end it, or use another --home; see docs/runbook.md#home-in-use`,
    );
    return 1;
  }
  await using _lock = locking.lock;
  print(`home: ${layout.home}${making.isNew ? " (new: sample notes in notes/, sample grants in etc/grants/)" : ""}`);
  const rolesLog = join(layout.home, "roles.log");
  let writing: Promise<void> = Promise.resolve();
  const onLine = (name: string, line: string): void => {
    // The log of a trial is for looking at afterwards; that it can't be written must not end the chat.
    writing = writing.then(() => appendFile(rolesLog, `${name} | ${escapeText(line)}\n`, { mode: 0o600 })).catch(() => undefined);
  };
  const held: string[] = [];
  let isDrawn = false;
  const say = (line: string): void => {
    onLine("boxmaker", line);
    if (!isDrawn) print(`boxmaker: ${line}`);
    // The chat itself says what doesn't answer; these lines would land in what is being typed.
    else if (held.push(line) > MAX_HELD) held.shift();
  };
  const supervisor = new Supervisor({ clock: systemClock, say, onLine });
  let status = 1;
  let chatted = false;
  const endStart = (): void => supervisor.startNoMore();
  stop.addEventListener("abort", endStart, { once: true });
  try {
    const started = await startBox({ layout, model: options.model, runtime: options.runtime, supervisor, say: print });
    if (stop.aborted) print("boxmaker: told to end before the chat began");
    else if (started.kind === "failed") print(`boxmaker: ${started.problem}`);
    else {
      chatted = true;
      options.onChat(true);
      isDrawn = options.isInteractive && options.say === undefined;
      status = await onTerminal(chatArguments(options, layout), "inherit", stop);
    }
  } finally {
    stop.removeEventListener("abort", endStart);
    options.onChat(false);
    isDrawn = false;
    for (const line of held) print(`boxmaker: ${line}`);
    await supervisor.stop();
    await writing;
  }
  // Where there was no chat, the line that says why is to be the last.
  if (!chatted) return status;
  const verified = await onTerminal(["audit", "verify", "--home", layout.home], STDERR, new AbortController().signal);
  return verified === 0 ? status : 1;
}

function chatArguments(options: TryOptions, layout: Layout): readonly string[] {
  const chat = ["chat", "--home", layout.home, "--socket", layout.sockets.loop, "--admin-socket", layout.sockets.admin];
  if (options.session !== undefined) chat.push("--session", options.session);
  if (options.say !== undefined) chat.push("--say", options.say);
  if (options.json) chat.push("--json");
  return chat;
}
