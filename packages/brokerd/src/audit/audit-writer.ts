/** The audit log as brokerd writes it: an append counts once it is on the disk, and after the first failure nothing counts any more. */
import { fsync } from "node:fs";
import { promisify } from "node:util";
import type { Clock } from "@boxmaker/edge/log";
import {
  type AbsPath,
  type AuditEvent,
  type AuditRecord,
  type AuditSeq,
  auditSeqAfter,
  type ChainHead,
  type DayFileName,
  dayFileOf,
  dayOf,
  encodeRecordLine,
  type Hash32,
  quoteText,
  sha256,
  type Timestamp,
  timestampFromMillis,
} from "@boxmaker/proto";
import type { LastLine } from "@boxmaker/proto/transparency";
import { AuditStoppedError } from "./audit-stopped-error.ts";
import type { BlobStore } from "./blob-store.ts";
import { DayFile } from "./day-file.ts";
import type { DirectoryLock } from "./directory-lock.ts";
import { phraseFailure } from "./phrase-failure.ts";
import type { LogMark } from "./read-directory.ts";
import type { SyncPace } from "./sync-pace.ts";

const syncFile = promisify(fsync);
const turnEnd = (): Promise<void> => promisify(setImmediate)();

/** A record that has its place in the chain. It counts once `durable` has resolved, which it does in order of `seq`. */
export interface Appended {
  readonly seq: AuditSeq;
  readonly time: Timestamp;
  readonly record: AuditRecord;
  readonly durable: Promise<void>;
}

/** What an opened log is made of. The log owns lock, blobs, grants and file, and disposes of them. */
export interface AuditLogParts {
  readonly directory: AbsPath;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Of the disk that the directory is on. */
  readonly pace: SyncPace;
  readonly warn: (line: string) => void;
  readonly lock: Pick<DirectoryLock, "descriptor"> & Disposable;
  readonly blobs: BlobStore;
  readonly grants: BlobStore;
  readonly head: ChainHead;
  /** The newest day file, where there is one. */
  readonly file: DayFile | undefined;
  /** Takes each record once it is on the disk, in order, with its line's place. Must not throw. */
  readonly onDurable?: ((record: AuditRecord, line: string, place: LastLine) => void) | undefined;
}

interface Waiting {
  readonly record: AuditRecord;
  readonly file: DayFileName;
  readonly line: string;
  readonly blobs: ReadonlyMap<Hash32, string>;
  readonly outcome: PromiseWithResolvers<void>;
}

/** Made by openAuditLog. Appends that wait at the same time share one write and one sync. */
export class AuditLog implements AsyncDisposable {
  readonly #parts: AuditLogParts;
  #seq: number;
  #lastHash: Hash32;
  /** The last line, while its hash is still to be made. */
  #unhashed: string | undefined;
  #lastFile: DayFileName | undefined;
  #file: DayFile | undefined;
  #waiting: Waiting[] = [];
  /** Whether the last batch had more than one record. */
  #isBusy = false;
  #isDraining = false;
  /** Whether nothing but a thread may wait for the disk. */
  #isLoopFree = false;
  /** The end of this turn of the event loop, where a sync was already waited for in it. */
  #turnEnd: Promise<void> | undefined;
  #drained: Promise<void> = Promise.resolve();
  #failure: AuditStoppedError | undefined;

  constructor(parts: AuditLogParts) {
    this.#parts = parts;
    this.#seq = parts.head.seq;
    this.#lastHash = parts.head.sha256;
    this.#file = parts.file;
    this.#lastFile = parts.file?.name;
  }

  /** The seq of the last record that has its place in the chain, durable or not yet; 0 in an empty log. */
  get head(): number {
    return this.#seq;
  }

  /** The place of that record, for a snapshot of the state after it. */
  get mark(): LogMark {
    return { seq: this.#seq, head: this.#hashOfLast() };
  }

  /** Whether an append has failed, or the log is closed. It never becomes false again. */
  get stopped(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * Keeps the text of a grant file that a record is about to name by its hash; resolves when it is durable.
   *
   * @throws {Error} when it can't be made durable
   */
  async keepGrant(hash: Hash32, text: string): Promise<void> {
    await this.#parts.grants.store(new Map([[hash, text]]));
  }

  /** From now on no sync is waited for on the spot: a disk that hangs mustn't keep the deadlines of a stop from coming. */
  keepLoopFree(): void {
    this.#isLoopFree = true;
  }

  /**
   * Gives an event its place in the chain and begins to write it. What a `BlobRef` of the event stands for has to be among `blobs`,
   * which are durable before the record is.
   *
   * @throws {AuditStoppedError} when the log has stopped; `durable` rejects with it when it stops before this record is written
   * @throws {RangeError} when the event makes no valid record, or a blob isn't what its hash says; the log goes on
   */
  append(event: AuditEvent, blobs: ReadonlyMap<Hash32, string>): Appended {
    if (this.#failure !== undefined) throw this.#failure;
    for (const [hash, text] of blobs) {
      if (sha256(text) !== hash) throw new RangeError("expected each blob under the hash of its text");
    }
    const time = timestampFromMillis(this.#parts.clock.now());
    const seq = auditSeqAfter(this.#seq);
    const { record, line } = encodeRecordLine({ seq, time, prev: this.#hashOfLast(), event });
    // INVARIANT: never back to an earlier day's file, whatever the clock does.
    const file = this.#lastFile !== undefined && dayOf(this.#lastFile) >= dayOf(time) ? this.#lastFile : dayFileOf(time);
    const outcome = Promise.withResolvers<void>();
    // A caller that doesn't wait misses nothing: after a failure its next append throws.
    outcome.promise.catch(() => undefined);
    this.#seq = seq;
    this.#unhashed = line;
    this.#lastFile = file;
    this.#waiting.push({ record, file, line, blobs, outcome });
    if (!this.#isDraining) {
      this.#isDraining = true;
      this.#drained = this.#drain();
    }
    return { seq, time, record, durable: outcome.promise };
  }

  /** Writes what waits, then closes the log and gives up its lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#failure ??= new AuditStoppedError("the audit log is closed; see docs/runbook.md#audit-unavailable");
    await this.#drained;
    this.#file?.[Symbol.dispose]();
    this.#file = undefined;
    await this.#parts.blobs[Symbol.asyncDispose]();
    await this.#parts.grants[Symbol.asyncDispose]();
    this.#parts.lock[Symbol.dispose]();
  }

  async #drain(): Promise<void> {
    // Appends of one step go into the same batch; where several callers are at work, so do those of one turn of the event loop.
    await (this.#turnEnd ?? (this.#isBusy ? turnEnd() : Promise.resolve()));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#isBusy = batch.length > 1;
      try {
        if (!this.#commitInPlace(batch)) await this.#commit(batch);
      } catch (error) {
        // Nobody can say what of this batch is on the disk, and later records chain on it: the next start reads what is there.
        this.#stop(error, batch);
        return;
      }
      for (const { outcome } of batch) outcome.resolve();
    }
    this.#isDraining = false;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    for (const { blobs } of batch) {
      if (blobs.size > 0) await this.#parts.blobs.store(blobs);
    }
    for (let rest = batch; rest[0] !== undefined; ) {
      const { file: name } = rest[0];
      const next = rest.findIndex(({ file }) => file !== name);
      const end = next === -1 ? rest.length : next;
      await this.#writeLines(name, rest.slice(0, end));
      rest = rest.slice(end);
    }
  }

  /**
   * Commits a record that comes alone on the spot, where the disk is quick; says whether it did. Once in a turn of the event loop at most:
   * what came in meanwhile has its turn first, and is written together.
   */
  #commitInPlace([only, ...others]: readonly Waiting[]): boolean {
    const file = this.#file;
    if (only === undefined || others.length > 0 || only.blobs.size > 0 || file?.name !== only.file) return false;
    if (this.#isLoopFree || !this.#parts.pace.isQuick || this.#turnEnd !== undefined) return false;
    this.#turnEnd = turnEnd().then(() => {
      this.#turnEnd = undefined;
      this.#hashOfLast();
    });
    const offset = file.bytes;
    file.append(Buffer.from(`${only.line}\n`));
    const started = this.#parts.clock.monotonic();
    file.syncInPlace();
    this.#synced(file, [only], { offset, started });
    return true;
  }

  async #writeLines(name: DayFileName, batch: readonly Waiting[]): Promise<void> {
    const current = this.#file;
    const file = current?.name === name ? current : this.#beginFile(name);
    const offset = file.bytes;
    file.append(Buffer.from(batch.map(({ line }) => `${line}\n`).join("")));
    const started = this.#parts.clock.monotonic();
    const synced = file.sync();
    // While the disk is at work.
    this.#hashOfLast();
    await synced;
    if (file !== current) await syncFile(this.#parts.lock.descriptor);
    this.#synced(file, batch, { offset, started });
  }

  /** These lines, from `offset` on, are on the disk, whose sync began at `started`. */
  #synced(
    file: DayFile,
    batch: readonly Waiting[],
    { offset, started }: { readonly offset: number; readonly started: number },
  ): void {
    const { clock, pace, onDurable } = this.#parts;
    pace.took(clock.monotonic() - started);
    let start = offset;
    for (const { record, line } of batch) {
      const bytes = Buffer.byteLength(line);
      onDurable?.(record, line, { file: file.name, offset: start, bytes });
      start += bytes + 1;
    }
  }

  #beginFile(name: DayFileName): DayFile {
    this.#file?.[Symbol.dispose]();
    this.#file = undefined;
    this.#file = DayFile.create(this.#parts.directory, name);
    return this.#file;
  }

  /** The hash of the last line: made at the latest when the next record needs it. */
  #hashOfLast(): Hash32 {
    if (this.#unhashed !== undefined) this.#lastHash = sha256(this.#unhashed);
    this.#unhashed = undefined;
    return this.#lastHash;
  }

  #stop(error: unknown, batch: readonly Waiting[]): void {
    const where = quoteText(this.#parts.directory);
    const message = `audit log in ${where} stopped: ${phraseFailure(error)}; nothing runs until brokerd is started again`;
    const failure = new AuditStoppedError(`${message}; see docs/runbook.md#audit-unavailable`, { cause: error });
    this.#failure = failure;
    for (const { outcome } of [...batch, ...this.#waiting]) outcome.reject(failure);
    this.#waiting = [];
    this.#parts.warn(failure.message);
  }
}
