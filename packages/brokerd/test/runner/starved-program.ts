/** Starts a box when no descriptor is left for its pipes, and prints what it comes to. */
import { openSync } from "node:fs";
import type { Launch } from "../../src/runner/box-child.ts";
import { startBox } from "../../src/runner/box-process.ts";

const launch: Launch = {
  program: "/bin/true",
  args: [],
  environment: {},
  filter: Buffer.from("filter"),
  reportsChild: true,
  stop: async () => {},
};
const options = { input: Buffer.alloc(0), limitMs: 10_000, outputCap: 1000, signal: new AbortController().signal };
// What is loaded at first use has to be loaded while it still can be.
await startBox(launch, options).ended;
try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // None is left.
}
const box = startBox(launch, options);
const answer = await box.answer;
await box.ended;
process.stdout.write(`${JSON.stringify(answer)}\n`);
