/**
 * A thread that verifies stretches of a log as they come. It is sent the pattern of the commonest lines, and loads the schemas of all only
 * for a log that has others: they take longer to load than some ten megabytes to verify.
 */
import { parentPort } from "node:worker_threads";
import { CHUNK_BYTES } from "@boxmaker/edge/day-files";
import { patternReader, type ReadLine, type TalliedRecord } from "@boxmaker/proto/audit-lines";
import { type StretchWork, takeStretches } from "./take-stretches.ts";
import { type Stretch, type StretchReading, verifyStretch } from "./verify-stretch.ts";

class StretchVerifier {
  readonly #work: StretchWork;
  readonly #buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  #readAll: ReadLine<TalliedRecord> | undefined;

  constructor(work: StretchWork) {
    this.#work = work;
  }

  async verify(stretch: Stretch): Promise<StretchReading> {
    const { directory, pattern, treeSize } = this.#work;
    if (this.#readAll === undefined) {
      const readByPattern = patternReader(pattern);
      let isRead = true;
      const read: ReadLine<TalliedRecord> = (line) => {
        const value = readByPattern(line);
        if (value !== undefined) return { kind: "ok", value };
        isRead = false;
        return { kind: "not_canonical", problem: "not one of the commonest lines" };
      };
      const reading = await verifyStretch(stretch, { directory, read, treeSize, buffer: this.#buffer });
      if (isRead) return reading;
      this.#readAll = (await import("@boxmaker/proto")).readTalliedLine;
    }
    return await verifyStretch(stretch, { directory, read: this.#readAll, treeSize, buffer: this.#buffer });
  }
}

const port = parentPort;
port?.once("message", (work: StretchWork) => {
  const verifier = new StretchVerifier(work);
  takeStretches(
    work,
    (stretch) => verifier.verify(stretch),
    (result) => port.postMessage(result),
  ).catch(() => {
    // What this thread leaves unread, reading the log in turn reads.
    port.close();
  });
});
