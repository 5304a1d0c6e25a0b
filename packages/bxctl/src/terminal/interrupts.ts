/** Ctrl-C, however it comes: as a signal, or as a byte from a terminal in raw mode. */

/** Whoever listens last is asked first, and alone. */
export class Interrupts {
  readonly #listeners: (() => void)[] = [];

  /** Calls `listener` on each Ctrl-C until disposed. It must not throw. */
  listen(listener: () => void): Disposable {
    this.#listeners.push(listener);
    return {
      [Symbol.dispose]: () => {
        const index = this.#listeners.lastIndexOf(listener);
        if (index >= 0) this.#listeners.splice(index, 1);
      },
    };
  }

  raise(): void {
    this.#listeners.at(-1)?.();
  }
}
