/** The program inside the box: one frame in on standard input, one tool, one frame out on standard output. */
import { writeSync } from "node:fs";
import { readRun } from "./frame-in.ts";
import { encodeDone, writeAll } from "./frame-out.ts";
import { runTool } from "./run-tool.ts";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** What a user's terminal would start with, so that files made in a box look the same under every runtime. */
const UMASK = 0o022;

const run = readRun(STDIN);
if (run.kind === "misuse") {
  writeSync(STDERR, `toolkit: ${run.problem}\n`);
  process.exitCode = 2;
} else {
  process.umask(UMASK);
  const result = await runTool(run.body);
  writeAll(STDOUT, encodeDone(run.id, result));
  process.exitCode = result.status === "ok" ? 0 : 1;
}
