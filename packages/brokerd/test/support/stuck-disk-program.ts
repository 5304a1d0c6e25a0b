/**
 * brokerd on a disk that takes nothing any more from SIGTERM on. What has to be waited for at least ten seconds then comes at once, and is
 * said on standard error instead.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const LONG_MS = 10_000;
const { fdatasync } = fs;
const { setTimeout: startTimer } = globalThis;
let isStuck = false;

function syncUntilStuck(descriptor: number, done: fs.NoParamCallback): void {
  if (!isStuck) fdatasync(descriptor, done);
}

function startShortTimer<A extends unknown[]>(run: (...args: A) => void, ms = 0, ...args: A): NodeJS.Timeout {
  const isShortened = isStuck && ms >= LONG_MS;
  if (isShortened) process.stderr.write(`waits ${ms}\n`);
  return startTimer(run, isShortened ? 0 : ms, ...args);
}

Object.assign(fs, { fdatasync: syncUntilStuck });
syncBuiltinESMExports();
Object.assign(globalThis, { setTimeout: startShortTimer });
process.on("SIGTERM", () => {
  isStuck = true;
  // A disk that is at work keeps the process, too.
  setInterval(() => undefined, LONG_MS);
});
await import("../../src/main.ts");
