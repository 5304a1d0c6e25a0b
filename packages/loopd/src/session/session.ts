/** One session, open at its last epoch: its records in memory are exactly those that are safe on disk. */
import { type FileHandle, open } from "node:fs/promises";
import { SessionError, type SessionStart } from "@boxmaker/edge/session-files";
import {
  type Baseline,
  CallId,
  canonicalJson,
  type EpochEnd,
  type Label,
  quoteText,
  type SessionId,
  SessionRecord,
} from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";

/** One epoch, and the log that it is written to. */
export interface EpochContents {
  readonly start: SessionStart;
  readonly baseline: Baseline;
  readonly records: readonly SessionRecord[];
  readonly end: EpochEnd | undefined;
  readonly path: string;
  readonly length: number;
}

export interface SessionContents extends EpochContents {
  readonly id: SessionId;
  /** Above every call id that the session ever sent. */
  readonly nextCall: CallId;
  /** What the results of the epochs before this one had in them. */
  readonly seenBefore: Label;
  /** Whether it began with the core memory: brokerd counts that for what the session has seen, from its first call on and never later. */
  readonly mayHaveMemory: boolean;
}

async function openLog(path: string): Promise<FileHandle> {
  try {
    return await open(path, "a");
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Appends go to disk one after another: a record counts when it is synced, and only then is it remembered. */
export class Session implements AsyncDisposable {
  readonly id: SessionId;
  readonly seenBefore: Label;
  readonly mayHaveMemory: boolean;
  #epoch: EpochContents;
  #records: SessionRecord[];
  #end: EpochEnd | undefined;
  #handle: FileHandle;
  #length: number;
  #nextCall: number;
  #broken: SessionError | undefined;

  private constructor(contents: SessionContents, handle: FileHandle) {
    this.id = contents.id;
    this.seenBefore = contents.seenBefore;
    this.mayHaveMemory = contents.mayHaveMemory;
    this.#epoch = contents;
    this.#records = [...contents.records];
    this.#end = contents.end;
    this.#length = contents.length;
    this.#nextCall = contents.nextCall;
    this.#handle = handle;
  }

  /** @throws {SessionError} `unwritable` */
  static async open(contents: SessionContents): Promise<Session> {
    return new Session(contents, await openLog(contents.path));
  }

  get start(): SessionStart {
    return this.#epoch.start;
  }

  get baseline(): Baseline {
    return this.#epoch.baseline;
  }

  /** Every record of the epoch between its start and its end. */
  get records(): readonly SessionRecord[] {
    return this.#records;
  }

  /** How the epoch ended. Nothing more can be appended then until the next one has begun. */
  get end(): EpochEnd | undefined {
    return this.#end;
  }

  /**
   * Appends one record. After a failure the session takes no more, and what the failed write left behind is cut off again.
   *
   * @throws {SessionError} `unwritable`
   */
  async append(record: SessionRecord): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#end !== undefined) throw new Error("append to an epoch that has ended");
    // Schema first: what couldn't be read back is never written.
    const line = Buffer.from(`${canonicalJson(SessionRecord.parse(record))}\n`);
    try {
      await this.#handle.appendFile(line);
      await this.#handle.datasync();
    } catch (error) {
      this.#broken = unwritable(this.#epoch.path, error);
      await this.#handle.truncate(this.#length).catch(() => {
        // The next open refuses a torn line and says where it is.
      });
      throw this.#broken;
    }
    this.#length += line.length;
    if (record.kind === "epoch_end") this.#end = record;
    else this.#records.push(record);
  }

  /** Goes on in the next epoch, which is on disk. @throws {SessionError} `unwritable` */
  async advance(epoch: EpochContents): Promise<void> {
    const handle = await openLog(epoch.path);
    await this.#handle.close();
    this.#handle = handle;
    this.#epoch = epoch;
    this.#records = [...epoch.records];
    this.#end = epoch.end;
    this.#length = epoch.length;
  }

  /** The id that the next call will have. */
  get nextCall(): CallId {
    return CallId.parse(this.#nextCall);
  }

  /** Takes the next call id and records that it is taken, so that it is never used again whatever happens next. */
  async takeCall(id: string, tool: string): Promise<CallId> {
    const call = CallId.parse(this.#nextCall);
    await this.append({ kind: "call_sent", call, id, tool });
    this.#nextCall = call + 1;
    return call;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

function unwritable(path: string, error: unknown): SessionError {
  const message = `can't write the session log ${quoteText(path)}: ${errnoOf(error)}; see docs/runbook.md#session-unwritable`;
  return new SessionError("unwritable", message, error);
}
