/** The lines that are being added to an audit log, across the turn of the day. */
import { type FSWatcher, watch } from "node:fs";
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import {
  type AuditRecord,
  type DayFileName,
  type Hash32,
  LineSplitter,
  type LogLine,
  listLog,
  quoteText,
  readRecordLine,
} from "@boxmaker/proto";

/** A line of the log. `foreign`: it is no record, or doesn't follow from the one before it. `problem` is printable. */
export type FollowedLine =
  | { readonly kind: "record"; readonly record: AuditRecord }
  | { readonly kind: "foreign"; readonly problem: string };

/** Day files from before the newest that are read to begin with: what they leave open may be answered now. */
const EARLIER_FILES = 1;

interface Reading {
  readonly name: DayFileName;
  readonly splitter: LineSplitter;
  bytes: number;
}

/** Reads on where it stopped. It holds no file open between two looks. */
export class FollowedLog {
  readonly #directory: string;
  readonly #onLine: (line: FollowedLine) => void;
  #reading: Reading | undefined;
  /** Hashes of the last record, and of the one before it: a record that is called torn is taken out of the chain. */
  #last: Hash32 | undefined;
  #lastButOne: Hash32 | undefined;

  /** @param onLine called with each line in order. Must not throw. */
  constructor(directory: string, onLine: (line: FollowedLine) => void) {
    this.#directory = directory;
    this.#onLine = onLine;
  }

  /**
   * Takes in all that has been added.
   *
   * @throws {Error} when the directory can't be read, or a file has become shorter
   */
  async catchUp(): Promise<void> {
    const listing = listLog(await readAuditEntries(this.#directory));
    if (listing.kind === "refused") throw new Error(listing.problem);
    const begun = this.#reading;
    const files =
      begun === undefined ? listing.files.slice(-1 - EARLIER_FILES) : listing.files.filter(({ name }) => name >= begun.name);
    for (const file of files) {
      if (this.#reading?.name !== file.name) {
        this.#reading?.splitter.end();
        this.#reading = { name: file.name, splitter: new LineSplitter((line) => this.#take(line)), bytes: 0 };
      }
      const reading = this.#reading;
      if (file.bytes < reading.bytes) throw new Error(`${quoteText(file.name)} became shorter`);
      for await (const chunk of readAuditFile(this.#directory, file, reading.bytes)) {
        reading.splitter.push(chunk);
        reading.bytes += chunk.length;
      }
    }
    if (begun !== undefined && !files.some(({ name }) => name === begun.name)) throw new Error(`${quoteText(begun.name)} is gone`);
  }

  #take({ content, sha256 }: LogLine): void {
    const reading = content === undefined ? undefined : readRecordLine(content);
    if (reading?.kind !== "ok") {
      this.#onLine({ kind: "foreign", problem: "a line that is no record: cut off by a crash, or written by somebody else" });
      return;
    }
    const record = reading.value;
    const isTakenBack = record.event.kind === "recovery" && record.prev === this.#lastButOne;
    const follows = this.#last === undefined || record.prev === this.#last || isTakenBack;
    if (!follows) {
      this.#onLine({ kind: "foreign", problem: `record ${record.seq} doesn't follow from the one before it` });
    }
    if (!isTakenBack) this.#lastButOne = this.#last;
    this.#last = sha256;
    this.#onLine({ kind: "record", record });
  }
}

/** Tells when something in a directory changes. Several changes may come as one. */
export class DirectoryChanges implements Disposable {
  readonly #watcher: FSWatcher;
  #isDue = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  /** Watches from now on; whoever reads afterwards misses nothing. */
  constructor(directory: string) {
    this.#watcher = watch(directory);
    this.#watcher.on("change", () => this.#tell());
    this.#watcher.on("error", (error) => {
      this.#failure = error;
      this.#tell();
    });
  }

  /** Resolves with the next change, to false where `signal` has aborted. @throws what the watching failed with */
  async next(signal: AbortSignal): Promise<boolean> {
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    try {
      while (!this.#isDue && !signal.aborted) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
    this.#isDue = false;
    if (this.#failure !== undefined) throw this.#failure;
    return !signal.aborted;
  }

  [Symbol.dispose](): void {
    this.#watcher.close();
  }

  #tell(): void {
    this.#isDue = true;
    this.#wake();
  }
}
