/** Waiting that a signal can end, without leaving anything behind on a signal that lives long. */

/** Resolves when `event` has settled or one of `signals` has aborted, whichever is first. Never rejects. */
export function waitForEither(event: Promise<unknown>, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    if (signals.some((signal) => signal.aborted)) {
      resolve();
      return;
    }
    for (const signal of signals) signal.addEventListener("abort", end, { once: true });
    event.then(end, end);
  });
}
