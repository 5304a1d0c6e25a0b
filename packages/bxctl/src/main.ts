#!/usr/bin/env node
/** The bxctl program: the owner's terminal, environment and signals, handed to the command that was asked for. */
import { runProgram } from "./program.ts";

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
