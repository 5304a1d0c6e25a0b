/** One session, open: its records in memory are exactly those that are safe on disk. */
import { type FileHandle, open } from "node:fs/promises";
import { type Baseline, CallId, canonicalJson, quoteText, type SessionId, SessionRecord } from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";
import type { SessionStart } from "./read-log.ts";
import { SessionError } from "./session-error.ts";

export interface SessionContents {
  readonly id: SessionId;
  readonly start: SessionStart;
  readonly baseline: Baseline;
  readonly records: readonly SessionRecord[];
  /** Above every call id that the session ever sent. */
  readonly nextCall: CallId;
  readonly path: string;
  readonly length: number;
}

/** Appends go to disk one after another: a record counts when it is synced, and only then is it remembered. */
export class Session implements AsyncDisposable {
  readonly id: SessionId;
  readonly start: SessionStart;
  readonly baseline: Baseline;
  readonly #records: SessionRecord[];
  readonly #path: string;
  readonly #handle: FileHandle;
  #length: number;
  #nextCall: number;
  #broken: SessionError | undefined;

  private constructor(contents: SessionContents, handle: FileHandle) {
    this.id = contents.id;
    this.start = contents.start;
    this.baseline = contents.baseline;
    this.#records = [...contents.records];
    this.#path = contents.path;
    this.#length = contents.length;
    this.#nextCall = contents.nextCall;
    this.#handle = handle;
  }

  /** @throws {SessionError} `unwritable` */
  static async open(contents: SessionContents): Promise<Session> {
    try {
      return new Session(contents, await open(contents.path, "a"));
    } catch (error) {
      throw unwritable(contents.path, error);
    }
  }

  /** Every record of the epoch after its start. */
  get records(): readonly SessionRecord[] {
    return this.#records;
  }

  /**
   * Appends one record. After a failure the session takes no more, and what the failed write left behind is cut off again.
   *
   * @throws {SessionError} `unwritable`
   */
  async append(record: SessionRecord): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    // Schema first: what couldn't be read back is never written.
    const line = Buffer.from(`${canonicalJson(SessionRecord.parse(record))}\n`);
    try {
      await this.#handle.appendFile(line);
      await this.#handle.datasync();
    } catch (error) {
      this.#broken = unwritable(this.#path, error);
      await this.#handle.truncate(this.#length).catch(() => {
        // The next open refuses a torn line and says where it is.
      });
      throw this.#broken;
    }
    this.#length += line.length;
    this.#records.push(record);
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
