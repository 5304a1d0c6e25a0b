/** A clock on which every wait is over at once, and took as long as it was meant to. */
import type { Clock } from "@boxmaker/edge/log";

export function leapingClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) => {
      now += ms;
      return Promise.resolve();
    },
  };
}

/** A clock on which no wait is ever over. */
export function standingClock(now = 0): Clock {
  return {
    now: () => now,
    monotonic: () => 0,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        if (signal.aborted) reject(new Error("aborted"));
      }),
  };
}
