/** The program inside a box: one frame in, one tool, one frame out; or, as `egress-proxy`, the way out of other boxes. */
import { writeSync } from "node:fs";
import { escapeText } from "@boxmaker/proto";
import { runProxy } from "./egress/run-proxy.ts";
import { type RunReading, readRun } from "./frame-in.ts";
import { encodeDone, writeAll } from "./frame-out.ts";
import { runTool } from "./run-tool.ts";
import { warmUpLater } from "./warm-up.ts";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** What a user's terminal would start with, so that files made in a box look the same under every runtime. */
const UMASK = 0o022;

async function readWarm(): Promise<RunReading> {
  using _ = warmUpLater(import.meta.filename);
  return await readRun(STDIN);
}

async function answerOne(): Promise<number> {
  const run = await readWarm();
  if (run.kind === "misuse") {
    writeSync(STDERR, `${escapeText(`toolkit: ${run.problem}`)}\n`);
    return 2;
  }
  process.umask(UMASK);
  const result = await runTool(run.body);
  writeAll(STDOUT, encodeDone(run.id, result));
  return result.status === "ok" ? 0 : 1;
}

/** A line for whoever listens: nobody does any more where writing fails, and serving goes on. */
function say(stream: NodeJS.WriteStream): (line: string) => void {
  stream.on("error", () => undefined);
  return (line) => void stream.write(`${escapeText(line)}\n`);
}

async function serveEgress(args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  const log = say(process.stderr);
  const print = say(process.stdout);
  return runProxy({ args, print, log: (line) => log(`egress-proxy: ${line}`), stopping: stop.signal });
}

const [command, ...args] = process.argv.slice(2);
switch (command) {
  case undefined:
    process.exitCode = await answerOne();
    break;
  case "egress-proxy":
    process.exitCode = await serveEgress(args);
    break;
  default:
    writeSync(STDERR, "toolkit: expected no arguments, or egress-proxy and its own\n");
    process.exitCode = 2;
}
