/** The stretches of a log, each verified by whichever thread comes to it first. */
import type { Stretch, StretchReading } from "./verify-stretch.ts";

/** What all threads share. It can be sent to one. */
export interface StretchWork {
  readonly directory: string;
  readonly stretches: readonly Stretch[];
  /** How many stretches are taken, in memory that all threads share. */
  readonly taken: Int32Array<SharedArrayBuffer>;
  /** How many records of the log are hashed into a tree. */
  readonly treeSize: number;
  /** Of the commonest lines. */
  readonly pattern: RegExp;
}

/** What the stretch at `index` is. */
export interface StretchResult {
  readonly index: number;
  readonly reading: StretchReading;
}

/** Takes stretches until there are no more. Never rejects. */
export async function takeStretches(
  { stretches, taken }: Pick<StretchWork, "stretches" | "taken">,
  verify: (stretch: Stretch) => Promise<StretchReading>,
  onResult: (result: StretchResult) => void,
): Promise<void> {
  for (;;) {
    const index = Atomics.add(taken, 0, 1);
    const stretch = stretches[index];
    if (stretch === undefined) return;
    // What can't be read isn't whole; reading the log in turn says why.
    const reading = await verify(stretch).catch((): StretchReading => ({ kind: "other" }));
    onResult({ index, reading });
    // Such a log is read in turn, whatever the others are.
    if (reading.kind === "other") Atomics.store(taken, 0, stretches.length);
  }
}
