#!/usr/bin/env node
/** The bxctl program: the owner's terminal, environment and signals, handed to the command that was asked for. */
import { setFlagsFromString } from "node:v8";

// A log of any length is verified in the memory that a short one takes: V8 would let what is young grow before it looks at it. Heeded
// only before the first module makes its objects, hence the late import.
setFlagsFromString("--semi-space-growth-factor=1");
const { runProgram } = await import("./program.ts");

// A reader that left (`bxctl approvals | head`) is no reason for a stack trace; nothing more can be said to it.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => process.exit(1));

process.umask(0o077);
process.exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  onInterrupt: (listener) => {
    process.on("SIGINT", listener);
    return { [Symbol.dispose]: () => void process.off("SIGINT", listener) };
  },
});
