/**
 * brokerd on a disk that answers nothing any more from SIGTERM on, so that its stop waits for ever: for a promise, or, with a FIFO in
 * STUCK_FIFO, for a sync in a thread of Node's; a sync on the spot is said then, and ends it. What has to be waited for at least ten seconds
 * comes as soon as that is so, and is said on standard error instead.
 */
import fs, { type NoParamCallback, type PathLike } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const LONG_MS = 10_000;
const { unlink } = fs.promises;
const { fdatasync, fdatasyncSync, open } = fs;
const { setTimeout: startTimer } = globalThis;
/** Opening one that nobody writes to doesn't come back. */
const fifo = process.env["STUCK_FIFO"];
let isStuck = false;
let comeAtLast = (): void => undefined;

function unlinkUntilStuck(path: PathLike): Promise<void> {
  return isStuck && fifo === undefined ? new Promise(() => undefined) : unlink(path);
}

function syncUntilStuck(descriptor: number, done: NoParamCallback): void {
  if (!isStuck || fifo === undefined) return fdatasync(descriptor, done);
  open(fifo, "r", () => undefined);
  setImmediate(comeAtLast);
}

function syncOnTheSpot(descriptor: number): void {
  if (isStuck && fifo !== undefined) {
    process.stderr.write("waits for ever\n");
    process.exit();
  }
  fdatasyncSync(descriptor);
}

function startShortTimer<A extends unknown[]>(run: (...args: A) => void, ms = 0, ...args: A): NodeJS.Timeout {
  if (!isStuck || ms < LONG_MS) return startTimer(run, ms, ...args);
  process.stderr.write(`waits ${ms}\n`);
  comeAtLast = () => run(...args);
  return startTimer(fifo === undefined ? comeAtLast : () => undefined, 0);
}

Object.assign(fs.promises, { unlink: unlinkUntilStuck });
Object.assign(fs, { fdatasync: syncUntilStuck, fdatasyncSync: syncOnTheSpot });
syncBuiltinESMExports();
// As quick as a disk can be, until it is stuck.
if (fifo !== undefined) Object.assign(performance, { now: () => 0 });
Object.assign(globalThis, { setTimeout: startShortTimer });
process.on("SIGTERM", () => {
  isStuck = true;
  // A disk that is at work keeps the process, too.
  setInterval(() => undefined, LONG_MS);
});
await import(join(import.meta.dirname, "../../src/main.ts"));
