/**
/**
 * Keeps two boxes that share a path, of which one may write, from running at the same time for different sessions; a box from being handed,
 * through such a path, what its session has seen since it began, which it could carry to a path whose label is an older one; and more
 * boxes than the machine can take from running at all.
 */
import type { AbsPath, Mount } from "@boxmaker/proto";
import { type BoxReach, carriesAway, overlap } from "../runner/box-reach.ts";

interface RunningBox extends BoxReach {
  readonly ended: Promise<void>;
}

function collide(a: Mount, b: Mount): boolean {
  return (a.writable || b.writable) && overlap(a, b);
}

export class RunningBoxes {
  readonly #boxes = new Set<RunningBox>();
  readonly #max: number;
  readonly #share: number;
  #oneEnded = Promise.withResolvers<void>();

  /** @param max boxes that may run at the same time, half of them for one session: a flood of one leaves room for the others */
  constructor(max: number) {
    this.#max = max;
    this.#share = Math.ceil(max / 2);
  }

  /** What has to end before this box may start: a promise of it, or nothing. */
  obstacle(next: BoxReach): Promise<void> | undefined {
    let own = 0;
    for (const box of this.#boxes) {
      const isOwn = box.session === next.session;
      if (isOwn) own++;
      const isInTheWay = isOwn
        ? carriesAway(box, next)
        : box.mounts.some((theirs) => next.mounts.some((ours) => collide(theirs, ours)));
      if (isInTheWay) return box.ended;
    }
    // Whoever waits is woken in the order in which they came.
    return this.#boxes.size < this.#max && own < this.#share ? undefined : this.#oneEnded.promise;
  }

  /**
   * Reserves the mounts. Call it in the same step as {@link RunningBoxes.obstacle}.
   *
   * @returns the function that gives them free again, to be called once the box has ended; more calls do nothing
   */
  enter({ session, mounts, after }: BoxReach): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const box: RunningBox = { session, mounts, after, ended: promise };
    this.#boxes.add(box);
    return () => {
      if (!this.#boxes.delete(box)) return;
      resolve();
      this.#oneEnded.resolve();
      this.#oneEnded = Promise.withResolvers();
    };
  }

  /** Whether a box runs that may write the path, something below it, or a parent of it. */
  mayWrite(path: AbsPath): boolean {
    const asked: Mount = { path, writable: false };
    return [...this.#boxes].some(({ mounts }) => mounts.some((mount) => mount.writable && collide(mount, asked)));
  }

  get size(): number {
    return this.#boxes.size;
  }
}
