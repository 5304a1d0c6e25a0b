/**
 * brokerd on a disk that answers nothing any more from SIGTERM on, so that its stop waits for ever. What has to be waited for at least ten
 * seconds then comes at once, and is said on standard error instead.
 */
import fs, { type PathLike } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const LONG_MS = 10_000;
const { unlink } = fs.promises;
const { setTimeout: startTimer } = globalThis;
let isStuck = false;

function unlinkUntilStuck(path: PathLike): Promise<void> {
  return isStuck ? new Promise(() => undefined) : unlink(path);
}

function startShortTimer<A extends unknown[]>(run: (...args: A) => void, ms = 0, ...args: A): NodeJS.Timeout {
  const isShortened = isStuck && ms >= LONG_MS;
  if (isShortened) process.stderr.write(`waits ${ms}\n`);
  return startTimer(run, isShortened ? 0 : ms, ...args);
}

Object.assign(fs.promises, { unlink: unlinkUntilStuck });
syncBuiltinESMExports();
Object.assign(globalThis, { setTimeout: startShortTimer });
process.on("SIGTERM", () => {
  isStuck = true;
  // A disk that is at work keeps the process, too.
  setInterval(() => undefined, LONG_MS);
});
await import(join(import.meta.dirname, "../../src/main.ts"));
