/** shell: one command line for /bin/sh, its whole output in the order it was written, and how it ended. */
import { spawn, spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmdirSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { boundText } from "./bounded-text.ts";
import { describeError, errorCode } from "./system-error.ts";
import { fail, succeed, type ToolResult } from "./tool-result.ts";

/** The most output that is kept, in bytes (1 MiB). */
export const MAX_OUTPUT = 1024 * 1024;

const TOOL = "shell";
const SHELL = "/bin/sh";

/** The one place in a box that may be written and is not kept. */
const SCRATCH = "/tmp";
const CHUNK_BYTES = 64 * 1024;

type Ending =
  | { readonly kind: "exited"; readonly status: number }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "not_started"; readonly problem: string };

/** Runs `command`, in `cwd` or else in /tmp, and keeps at most `cap` bytes of what it prints. */
export async function shell(command: string, cwd: string | undefined, cap: number): Promise<ToolResult> {
  const directory = cwd ?? SCRATCH;
  if (!isDirectory(directory)) return fail(TOOL, directory, "no such directory");
  let pipe: Pipe;
  try {
    pipe = takePipe();
  } catch (error) {
    return fail(TOOL, "making a pipe", describeError(error));
  }
  const ended = start(command, directory, pipe.writer);
  closeSync(pipe.writer);
  const output = readToEnd(pipe.reader, Math.min(cap, MAX_OUTPUT));
  closeSync(pipe.reader);
  const ending = await ended;
  if (ending.kind === "not_started") return fail(TOOL, SHELL, ending.problem);
  const { text, dropped } = boundText(output.bytes, Math.min(cap, MAX_OUTPUT), output.dropped > 0);
  const missing = output.dropped + dropped;
  return succeed(render(text, missing, ending), missing > 0);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Whatever the reason, the command can't run there, and the caller says so.
    return false;
  }
}

interface Pipe {
  readonly reader: number;
  readonly writer: number;
}

/**
 * One pipe for both streams. Node's own "pipe" is a socket, on which `echo > /dev/stderr` fails; a FIFO is a pipe. Opened for both
 * first, since opening one end alone would wait for the other.
 */
function makePipe(): Pipe {
  const folder = mkdtempSync(join(SCRATCH, "boxmaker-pipe-"));
  const path = join(folder, "output");
  try {
    const made = spawnSync("mkfifo", ["-m", "600", path], { stdio: "ignore" });
    if (made.error !== undefined) throw made.error;
    const writer = openSync(path, constants.O_RDWR);
    const reader = openSync(path, constants.O_RDONLY);
    const onlyWriter = openSync(path, constants.O_WRONLY);
    closeSync(writer);
    unlinkSync(path);
    return { reader, writer: onlyWriter };
  } finally {
    rmdirSync(folder);
  }
}

/** The one that was made ahead. */
let spare: Pipe | undefined;

/** Makes the pipe of a command that may come: it takes a program to make one. Descriptors of it reach no other program. */
export function makePipeAhead(): void {
  spare ??= makePipe();
}

function takePipe(): Pipe {
  const pipe = spare ?? makePipe();
  spare = undefined;
  return pipe;
}

function start(command: string, cwd: string, output: number): Promise<Ending> {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const onError = (error: unknown): void => {
    const tooLong = errorCode(error) === "E2BIG";
    const problem = tooLong ? "the command is too long for one argument (128 KiB)" : describeError(error);
    resolve({ kind: "not_started", problem });
  };
  try {
    const child = spawn(SHELL, ["-c", command], { cwd, stdio: ["ignore", output, output] });
    child.once("error", onError);
    child.once("exit", (status, signal) => {
      resolve(status === null ? { kind: "killed", signal: signal ?? "a signal" } : { kind: "exited", status });
    });
  } catch (error) {
    // Node throws some errors of starting a process and emits the others: both are the tool's result.
    onError(error);
  }
  return promise;
}

interface Output {
  readonly bytes: Buffer;
  readonly dropped: number;
}

/** Reads until every process that can write has closed its end. Blocks: nothing else is to be done meanwhile. */
function readToEnd(reader: number, cap: number): Output {
  const kept: Buffer[] = [];
  let length = 0;
  let dropped = 0;
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const count = readSync(reader, chunk);
    if (count === 0) return { bytes: Buffer.concat(kept, length), dropped };
    const taken = Math.min(count, cap - length);
    kept.push(Buffer.from(chunk.subarray(0, taken)));
    length += taken;
    dropped += count - taken;
  }
}

function render(text: string, dropped: number, ending: Exclude<Ending, { kind: "not_started" }>): string {
  const lines = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const note = dropped > 0 ? `[${dropped} more bytes were dropped]\n` : "";
  const how = ending.kind === "exited" ? `exit status ${ending.status}` : `killed by ${ending.signal}`;
  return `${lines}${note}[${how}]`;
}
