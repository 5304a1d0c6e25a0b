/**
 * Keeps two boxes that share a path, of which one may write, from running at the same time for different sessions, and more boxes than
 * the machine can take from running at all.
 */
import { type AbsPath, holdsPath, type Mount, type SessionId } from "@boxmaker/proto";

interface RunningBox {
  readonly session: SessionId;
  readonly mounts: readonly Mount[];
  readonly ended: Promise<void>;
}

function collide(a: Mount, b: Mount): boolean {
  return (a.writable || b.writable) && (holdsPath(a.path, b.path) || holdsPath(b.path, a.path));
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

  /** What has to end before a box with these mounts may start for this session: a promise of it, or nothing. */
  obstacle(session: SessionId, mounts: readonly Mount[]): Promise<void> | undefined {
    let own = 0;
    for (const box of this.#boxes) {
      if (box.session === session) {
        own++;
        continue;
      }
      if (box.mounts.some((theirs) => mounts.some((ours) => collide(theirs, ours)))) return box.ended;
    }
    // Whoever waits is woken in the order in which they came.
    return this.#boxes.size < this.#max && own < this.#share ? undefined : this.#oneEnded.promise;
  }

  /**
   * Reserves the mounts. Call it in the same step as {@link RunningBoxes.obstacle}.
   *
   * @returns the function that gives them free again, to be called once the box has ended; more calls do nothing
   */
  enter(session: SessionId, mounts: readonly Mount[]): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const box: RunningBox = { session, mounts, ended: promise };
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
