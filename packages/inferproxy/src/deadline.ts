/** Bounds a step in time. */
import type { Clock } from "@boxmaker/edge/log";

/** Calls `expired` once after `delayMs` milliseconds, unless the result is disposed of first. */
export function startDeadline(clock: Clock, delayMs: number, expired: () => void): Disposable {
  const cancel = new AbortController();
  // The sleep rejects only when the deadline isn't needed any more.
  clock.sleep(delayMs, cancel.signal).then(expired, () => undefined);
  return { [Symbol.dispose]: () => cancel.abort() };
}
