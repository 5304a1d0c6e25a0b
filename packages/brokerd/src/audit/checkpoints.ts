/**
 * Signed checkpoints of the audit log: the log that a start finds is compared with the newest one, and while brokerd runs new ones are
 * written behind its back. Nothing waits for them, and a failure to write one is a warning.
 */
import { join } from "node:path";
import { compareLog, type NewestCheckpoint, readAuditEntries, readNewestCheckpoint } from "@boxmaker/edge/audit-files";
import type { Clock } from "@boxmaker/edge/log";
import {
  type AbsPath,
  type AcceptedLoss,
  type AuditRecord,
  type ChainEnd,
  dayOf,
  escapeText,
  listLog,
  quoteText,
  timestampFromMillis,
} from "@boxmaker/proto";
import {
  hashLeaf,
  isKeyName,
  type LastLine,
  LogTrees,
  openNote,
  writeCheckpoint,
  writeSignedNote,
  writeVerifierKey,
} from "@boxmaker/proto/transparency";
import type { CheckpointCommand } from "./checkpoint-command.ts";
import { type CheckpointKeys, openCheckpointKeys } from "./checkpoint-keys.ts";
import { CheckpointStore } from "./checkpoint-store.ts";

/** How long a record may wait for a checkpoint, and a failed checkpoint for the next attempt. */
const INTERVAL_MS = 60_000;
const DAY_MS = 86_400_000;

export interface CheckpointOptions {
  /** Where the private keys are. */
  readonly keys: AbsPath;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** How many records make a checkpoint due. */
  readonly every: number;
  /** Carries each checkpoint off the machine. Owned, and disposed of with the checkpoints. */
  readonly command?: CheckpointCommand | undefined;
  /** Takes one printable line. Must not throw. */
  readonly warn: (line: string) => void;
}

/** What the log is compared to its newest checkpoint. `loss` is what goes on record where the owner accepts the difference. */
export type CheckpointVerdict =
  | { readonly kind: "agrees" }
  | { readonly kind: "differs"; readonly problem: string; readonly loss: AcceptedLoss }
  | { readonly kind: "unusable"; readonly problem: string };

interface Parts {
  readonly store: CheckpointStore;
  readonly keys: CheckpointKeys;
}

/** First {@link Checkpoints.begin}, then {@link Checkpoints.onDurable} for each record, then {@link Checkpoints.start}. */
export class Checkpoints implements AsyncDisposable {
  readonly #options: CheckpointOptions;
  readonly #ending = new AbortController();
  #parts: Parts | undefined;
  /** INVARIANT: nothing is signed before the start has accepted the log. */
  #isStarted = false;
  #trees = new LogTrees();
  #last: LastLine | undefined;
  /** Records since the last checkpoint was asked for. */
  #since = 0;
  /** What the newest checkpoint on the disk covers, and the day that it was written for. */
  #written = "";
  #writtenDay = "";
  #wanted = false;
  #running: Promise<void> | undefined;
  #watching: Promise<void> = Promise.resolve();
  #failing = false;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /**
   * Compares the log in `directory` with the newest checkpoint, before anything is appended; `end` is what its chain came to. Makes the folder and, at the first start, a key.
   *
   * @throws {Error} when the file system fails
   */
  async begin(directory: AbsPath, end: ChainEnd): Promise<CheckpointVerdict> {
    const opening = await openCheckpointKeys(this.#options.keys);
    if (opening.kind === "refused") return { kind: "unusable", problem: opening.problem };
    const { keys } = opening;
    const store = new CheckpointStore(directory);
    this.#parts = { store, keys };
    const reading = await readNewestCheckpoint(directory);
    if (reading.kind === "damaged")
      return { kind: "unusable", problem: `${reading.problem}; see docs/runbook.md#checkpoint-damaged` };
    const newest = reading.kind === "newest" ? reading.newest : undefined;
    if (newest === undefined && keys.haveSigned) {
      const where = quoteText(join(directory, "checkpoints"));
      return {
        kind: "unusable",
        problem: `${where} has no checkpoint, but some were signed; see docs/runbook.md#checkpoint-missing`,
      };
    }
    const unsigned = newest === undefined ? undefined : findUnsigned(newest, keys);
    if (newest !== undefined && unsigned !== undefined) {
      const file = quoteText(join(directory, "checkpoints", newest.file));
      return {
        kind: "unusable",
        problem: `${file} isn't signed by this box: ${unsigned}; see docs/runbook.md#checkpoint-signature`,
      };
    }
    // A broken chain has its own message; and where the owner accepts the break, a new tree begins.
    if (end.kind === "broken") return { kind: "agrees" };
    const listing = listLog(await readAuditEntries(directory));
    if (listing.kind === "refused") throw new Error(listing.problem);
    const comparison = await compareLog({ directory, files: listing.files }, newest);
    this.#trees = comparison.trees;
    this.#last = comparison.last;
    this.#writtenDay = newest?.day ?? "";
    if (newest === undefined || comparison.kind === "agrees") return { kind: "agrees" };
    return { kind: "differs", ...difference(directory, newest, comparison.found, this.#trees.tree?.size ?? 0) };
  }

  /** Takes a record that is on the disk now, without its newline, in order. Doesn't throw. */
  onDurable(record: AuditRecord, line: string, last: LastLine): void {
    this.#trees.add(record, hashLeaf(Buffer.from(line)));
    this.#last = last;
    this.#since++;
    if (this.#since >= this.#options.every) this.#want();
  }

  /** Writes the first checkpoint, and from now on one whenever it is due, also on a day without a record. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await this.write();
    this.#watching = this.#watch();
  }

  /** Writes a checkpoint if there is anything new, or if the day has none. Never rejects. */
  async write(): Promise<void> {
    this.#want();
    await this.#running;
  }

  /** Writes the last checkpoint, and gives the command a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#watching;
    await this.write();
    this.#isStarted = false;
    await this.#options.command?.[Symbol.asyncDispose]();
    await this.#parts?.store[Symbol.asyncDispose]();
    this.#parts = undefined;
  }

  #want(): void {
    this.#since = 0;
    if (!this.#isStarted) return;
    this.#wanted = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#wanted) {
      this.#wanted = false;
      try {
        await this.#writeOne();
        this.#failing = false;
      } catch (error) {
        // The records are on the disk; only the proof of them has to wait.
        if (!this.#failing) this.#options.warn(phraseFailure(error));
        this.#failing = true;
      }
    }
    this.#running = undefined;
  }

  async #writeOne(): Promise<void> {
    const { tree } = this.#trees;
    const last = this.#last;
    if (tree === undefined || last === undefined || this.#parts === undefined) return;
    const { store, keys } = this.#parts;
    const { origin, first, size } = tree;
    const today = dayOf(timestampFromMillis(this.#options.clock.now()));
    // As in the log: never back to an earlier day.
    const isBack = today < this.#writtenDay;
    const day = isBack ? this.#writtenDay : today;
    const covers = `${origin} ${size}`;
    if (covers === this.#written && day === this.#writtenDay) return;
    const note = keys.sign(writeCheckpoint({ origin, size, root: this.#trees.root(), extensions: [] }), origin);
    const { before } = this.#trees.store();
    await keys.keep();
    await store.write({ note, day, stored: { first, before, last } });
    await keys.settle();
    this.#written = covers;
    this.#writtenDay = day;
    this.#options.command?.carry(writeSignedNote(note));
    // Last, because nothing depends on the list.
    await store.listKeys(keys.verifiers(origin).map(writeVerifierKey));
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const untilMidnight = DAY_MS - (clock.now() % DAY_MS);
      try {
        await clock.sleep(Math.min(INTERVAL_MS, untilMidnight), signal);
      } catch {
        // The wait was ended because everything ends.
        return;
      }
      await this.write();
    }
  }
}

/** Why these keys don't vouch for a checkpoint, in a printable phrase. */
function findUnsigned({ note, checkpoint: { origin } }: NewestCheckpoint, keys: CheckpointKeys): string | undefined {
  if (!isKeyName(origin)) return `${quoteText(origin)} is no name of a tree`;
  const verdict = openNote(note, keys.verifiers(origin));
  return verdict.kind === "refused" ? verdict.problem : undefined;
}

function difference(
  directory: AbsPath,
  { file, checkpoint }: NewestCheckpoint,
  found: string,
  size: number,
): { readonly problem: string; readonly loss: AcceptedLoss } {
  const { origin, size: signed, root } = checkpoint;
  const where = `the audit log in ${quoteText(directory)} isn't the one that was signed`;
  const problem = `${where}: expected the ${signed} records of ${quoteText(file)}, found ${found}; see docs/runbook.md#audit-cut`;
  return { problem, loss: { kind: "accepted_loss", origin, size: signed, root, found: size } };
}

function phraseFailure(error: unknown): string {
  const detail = escapeText(error instanceof Error ? error.message : "an unknown error");
  return `cannot write a checkpoint of the audit log: ${detail}; records go on; see docs/runbook.md#checkpoint-unwritten`;
}
