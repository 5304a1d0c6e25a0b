/** Lets a client have what was sent to it before its connection is closed, for a bounded time. */
import type { Writable } from "node:stream";
import type { Clock } from "@boxmaker/edge/log";
import { startDeadline } from "../deadline.ts";

/** How long a client may take to read what the inference server sent before its end, in milliseconds. */
export const FLUSH_MS = 10_000;

const NOTHING = Buffer.alloc(0);

/** Calls `then` once: when `writable` has taken all that was written to it, is closed, or has had {@link FLUSH_MS}. */
export function flushThen(writable: Writable, clock: Clock, then: () => void): void {
  let called = false;
  const once = (): void => {
    if (!called) {
      called = true;
      deadline[Symbol.dispose]();
      then();
    }
  };
  const deadline = startDeadline(clock, FLUSH_MS, once);
  writable.once("close", once);
  if (writable.destroyed || writable.writableLength === 0) {
    once();
  } else {
    writable.write(NOTHING, once);
  }
}
