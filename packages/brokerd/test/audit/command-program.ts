/** Hands a checkpoint to a command when no descriptor is left for its pipes, and prints what is said of it. */
import { openSync } from "node:fs";
import { CheckpointCommand } from "../../src/audit/checkpoint-command.ts";

const command = new CheckpointCommand({ words: ["/bin/true"], warn: (line) => void process.stdout.write(`${line}\n`) });
// What is loaded at first use has to be loaded while it still can be.
command.carry("first\n");
await command[Symbol.asyncDispose]();
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // None is left.
}
command.carry("second\n");
await command[Symbol.asyncDispose]();
process.stdout.write("done\n");
