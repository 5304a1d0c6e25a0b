/** The folder of all sessions: made, opened, listed. */
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@boxmaker/edge/log";
import {
  baselineFile,
  logFile,
  readSession,
  SESSION_FORMAT,
  SessionError,
  type SessionStart,
  sessionFolder,
  UNFINISHED_PREFIX,
} from "@boxmaker/edge/session-files";
import {
  type AbsPath,
  type Baseline,
  CallId,
  canonicalJson,
  carriedRecords,
  type Origin,
  quoteText,
  SessionId,
  type SessionRecord,
  sha256,
  timestampFromMillis,
} from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";
import { placeSynced, syncFolder, writeSynced } from "./durable-files.ts";
import { findPrefix, highestCall, type SessionPrefix } from "./prefix.ts";
import { seenLabel, UNSEEN } from "./seen-label.ts";
import { type EpochContents, Session } from "./session.ts";
import { glance, type SessionGlance } from "./summarize.ts";

/** What a new session is made of. */
export interface NewSession {
  readonly id: SessionId;
  readonly origin: Origin;
  readonly slot: number | null;
  readonly baseline: Baseline;
  /** What it begins with, after its start; nothing unless it continues another one. */
  readonly records?: readonly SessionRecord[];
}

/** The texts of an epoch's two files. */
interface EpochTexts {
  readonly start: SessionStart;
  readonly baseline: string;
  readonly log: string;
}

/** All sessions of one home. */
export class SessionStore {
  readonly #folder: AbsPath;
  readonly #clock: Clock;
  #made = 0;

  constructor(folder: AbsPath, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Makes the folder, and removes what a loopd that was killed left half made. @throws {SessionError} */
  async prepare(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      for (const name of await readdir(this.#folder)) {
        if (name.startsWith(UNFINISHED_PREFIX)) await rm(join(this.#folder, name), { recursive: true });
      }
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  /** Makes a session: complete or not at all. @throws {SessionError} `exists`, `unwritable` */
  async create({ id, origin, slot, baseline, records = [] }: NewSession): Promise<Session> {
    const folder = sessionFolder(this.#folder, id);
    const unfinished = join(this.#folder, `${UNFINISHED_PREFIX}${id}-${this.#made++}`);
    const texts = this.#compose({ epoch: 0, origin, slot }, baseline, records);
    try {
      await mkdir(unfinished, { mode: 0o700 });
      await writeSynced(baselineFile(unfinished, 0), texts.baseline);
      await writeSynced(logFile(unfinished, 0), texts.log);
      await syncFolder(unfinished);
      // Fails where a session of this name is there, because that folder isn't empty.
      await rename(unfinished, folder);
      await syncFolder(this.#folder);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true }).catch(() => {
        // The next start removes it.
      });
      if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errnoOf(error)))
        throw new SessionError("exists", "the session exists already");
      throw this.#unwritable(error);
    }
    return await Session.open({
      id,
      start: texts.start,
      baseline,
      records,
      end: undefined,
      nextCall: CallId.parse(highestCall(records) + 1),
      seenBefore: UNSEEN,
      mayHaveMemory: baseline.memory,
      path: logFile(folder, 0),
      length: Buffer.byteLength(texts.log),
    });
  }

  /** Opens a session at its last epoch, which may have ended: then the next one has to be begun. @throws {SessionError} */
  async open(id: SessionId): Promise<Session> {
    const folder = sessionFolder(this.#folder, id);
    const epochs = await readSession(folder);
    const last = epochs.at(-1);
    if (last === undefined) throw new SessionError("missing", "there is no such session");
    const calls = epochs.map(({ records }) => highestCall(records));
    return await Session.open({
      ...last,
      id,
      nextCall: CallId.parse(Math.max(...calls) + 1),
      seenBefore: epochs.slice(0, -1).reduce((label, { records }) => seenLabel(records, label), UNSEEN),
      mayHaveMemory: epochs[0]?.baseline.memory === true,
      path: logFile(folder, last.start.epoch),
    });
  }

  /**
   * Begins the epoch after one that has ended, with what that one carries over. Complete or not at all: a loopd that is killed on the way
   * finds the session as it was, and begins the epoch then.
   *
   * @throws {SessionError} `unwritable`
   */
  async beginEpoch(session: Session, baseline: Baseline): Promise<void> {
    const { end, start: before } = session;
    if (end === undefined) throw new Error("begin an epoch before the last one has ended");
    const { origin, slot } = before;
    const epoch = before.epoch + 1;
    const records = carriedRecords(session.records, end.carry);
    const { start, ...texts } = this.#compose({ epoch, origin, slot }, baseline, records);
    const folder = sessionFolder(this.#folder, session.id);
    const path = logFile(folder, epoch);
    try {
      // The log last: an epoch is there when its log is.
      await placeSynced(baselineFile(folder, epoch), texts.baseline);
      await placeSynced(path, texts.log);
    } catch (error) {
      throw this.#unwritable(error);
    }
    const length = Buffer.byteLength(texts.log);
    await session.advance({ start, baseline, records, end: undefined, path, length } satisfies EpochContents);
  }

  /**
   * Reads the first `turn` turns of a session.
   *
   * @param growing whether a turn of it is running, which may be in the middle of writing a line
   * @returns undefined where it hasn't so many turns
   * @throws {SessionError}
   */
  async prefix(id: SessionId, turn: number, growing: boolean): Promise<SessionPrefix | undefined> {
    return findPrefix(await readSession(sessionFolder(this.#folder, id), growing), turn);
  }

  /** What a list says about a session. Undefined where there is none, or its logs don't begin as they must. */
  async glance(id: SessionId): Promise<SessionGlance | undefined> {
    return await glance(sessionFolder(this.#folder, id));
  }

  /** The sessions' names, in no order. @throws {SessionError} `unreadable` */
  async list(): Promise<readonly SessionId[]> {
    try {
      const names = await readdir(this.#folder);
      return names.map((name) => SessionId.safeParse(name)).flatMap((parsed) => (parsed.success ? [parsed.data] : []));
    } catch (error) {
      const message = `can't list the sessions in ${quoteText(this.#folder)}: ${errnoOf(error)}; see docs/runbook.md#session-unreadable`;
      throw new SessionError("unreadable", message, error);
    }
  }

  #compose(
    { epoch, origin, slot }: Pick<SessionStart, "epoch" | "origin" | "slot">,
    baseline: Baseline,
    records: readonly SessionRecord[],
  ): EpochTexts {
    const text = `${canonicalJson(baseline)}\n`;
    const start: SessionStart = {
      kind: "session_start",
      version: SESSION_FORMAT,
      time: timestampFromMillis(this.#clock.now()),
      epoch,
      origin,
      slot,
      baseline: sha256(text),
    };
    return { start, baseline: text, log: [start, ...records].map((record) => `${canonicalJson(record)}\n`).join("") };
  }

  #unwritable(error: unknown): SessionError {
    const message = `can't make sessions in ${quoteText(this.#folder)}: ${errnoOf(error)}; see docs/runbook.md#session-unwritable`;
    return new SessionError("unwritable", message, error);
  }
}
