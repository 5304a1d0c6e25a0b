/** How much room is left where the audit log is. */
import { statfs } from "node:fs/promises";
import type { Clock } from "@boxmaker/edge/log";
import type { AbsPath } from "@boxmaker/proto";

const LOOK_EVERY_MS = 1000;

export class DiskSpace {
  readonly #directory: AbsPath;
  readonly #markBytes: number;
  readonly #clock: Pick<Clock, "monotonic">;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<boolean> = Promise.resolve(false);

  /** @param markBytes free bytes below which the disk counts as almost full */
  constructor(directory: AbsPath, markBytes: number, clock: Pick<Clock, "monotonic">) {
    this.#directory = directory;
    this.#markBytes = markBytes;
    this.#clock = clock;
  }

  /** Whether less than the mark is free, looked at once a second at most. What can't be looked at counts as full. */
  isLow(): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return this.#looking;
    this.#lookedAt = now;
    this.#looking = statfs(this.#directory, { bigint: true }).then(
      ({ bavail, bsize }) => bavail * bsize < BigInt(this.#markBytes),
      // Fails closed: reads and denials go on, and the log says by itself when it can't be written.
      () => true,
    );
    return this.#looking;
  }
}
