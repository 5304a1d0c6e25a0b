/** A log as it grows, read from outside, with its chain held to what was read before. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditRecord, readRecordLine, sha256, ZERO_HASH } from "@boxmaker/proto";

export class LogTail {
  readonly #directory: string;
  #file = "";
  #bytes = 0;
  #last = { seq: 0, hash: ZERO_HASH };
  #isTorn = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The records that came since. A last line without its end is left for the next time.
   *
   * @throws {Error} when a record doesn't follow the one before it, or what was read before has changed
   */
  read(): readonly AuditRecord[] {
    const records: AuditRecord[] = [];
    const days = readdirSync(this.#directory).filter((name) => name.endsWith(".jsonl") && name >= this.#file);
    for (const name of days.sort()) {
      if (name !== this.#file) {
        this.#file = name;
        this.#bytes = 0;
      }
      const unread = readFileSync(join(this.#directory, name)).subarray(this.#bytes);
      const whole = unread.subarray(0, unread.lastIndexOf("\n") + 1);
      this.#bytes += whole.length;
      for (const line of whole.toString("utf8").split("\n").slice(0, -1)) this.#take(line, records);
    }
    return records;
  }

  #take(line: string, records: AuditRecord[]): void {
    const reading = readRecordLine(Buffer.from(line));
    if (!("value" in reading)) {
      if (this.#isTorn) throw new Error(`two lines after ${this.#last.seq} are no records`);
      this.#isTorn = true;
      return;
    }
    const { seq, prev, event } = reading.value;
    if (seq !== this.#last.seq + 1 || prev !== this.#last.hash) throw new Error(`${seq} doesn't follow ${this.#last.seq}`);
    if (this.#isTorn && event.kind !== "recovery") throw new Error(`the torn line before ${seq} isn't accounted for`);
    this.#isTorn = false;
    this.#last = { seq, hash: sha256(line) };
    records.push(reading.value);
  }
}
