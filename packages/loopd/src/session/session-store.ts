/** The folder of all sessions: made, opened, listed. */
import { mkdir, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@boxmaker/edge/log";
import {
  type AbsPath,
  type Baseline,
  CallId,
  canonicalJson,
  type Origin,
  quoteText,
  SessionId,
  type SessionRecord,
  sha256,
  timestampFromMillis,
} from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";
import { SESSION_FORMAT } from "./baseline.ts";
import { cutOff, highestCall, type Prefix } from "./prefix.ts";
import { readEpoch, type SessionStart } from "./read-log.ts";
import { Session } from "./session.ts";
import { SessionError } from "./session-error.ts";
import { baselineFile, epochOfLog, logFile, sessionFolder, UNFINISHED_PREFIX } from "./session-files.ts";

/** What a new session is made of. */
export interface NewSession {
  readonly id: SessionId;
  readonly origin: Origin;
  readonly slot: number | null;
  readonly baseline: Baseline;
  /** What it begins with, after its start; nothing unless it continues another one. */
  readonly records?: readonly SessionRecord[];
}

async function writeSynced(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: "wx", flush: true });
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The first turns of a session, and what a session needs that begins with them. */
export interface SessionPrefix extends Prefix {
  readonly start: SessionStart;
  readonly baseline: Baseline;
  /** The last call that was sent in them; 0 where there was none. */
  readonly call: CallId;
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
    const text = `${canonicalJson(baseline)}\n`;
    const start: SessionStart = {
      kind: "session_start",
      version: SESSION_FORMAT,
      time: timestampFromMillis(this.#clock.now()),
      epoch: 0,
      origin,
      slot,
      baseline: sha256(text),
    };
    const lines = [start, ...records].map((record) => `${canonicalJson(record)}\n`).join("");
    try {
      await mkdir(unfinished, { mode: 0o700 });
      await writeSynced(baselineFile(unfinished, 0), text);
      await writeSynced(logFile(unfinished, 0), lines);
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
    const path = logFile(folder, 0);
    return await Session.open({
      id,
      start,
      baseline,
      records,
      nextCall: CallId.parse(highestCall(records) + 1),
      path,
      length: Buffer.byteLength(lines),
    });
  }

  /** Opens a session at its last epoch. @throws {SessionError} */
  async open(id: SessionId): Promise<Session> {
    const folder = sessionFolder(this.#folder, id);
    const epochs = await this.#epochs(folder);
    const last = epochs.at(-1);
    if (last === undefined) throw new SessionError("missing", "there is no such session");
    let nextCall = 1;
    for (const epoch of epochs.slice(0, -1))
      nextCall = Math.max(nextCall, highestCall((await readEpoch(folder, epoch)).records) + 1);
    const { start, baseline, records, length } = await readEpoch(folder, last);
    nextCall = Math.max(nextCall, highestCall(records) + 1);
    return await Session.open({
      id,
      start,
      baseline,
      records,
      nextCall: CallId.parse(nextCall),
      path: logFile(folder, last),
      length,
    });
  }

  /**
   * Reads the first `turn` turns of a session, of its last epoch.
   *
   * @param growing whether a turn of it is running, which may be in the middle of writing a line
   * @returns undefined where it hasn't so many turns
   * @throws {SessionError}
   */
  async prefix(id: SessionId, turn: number, growing: boolean): Promise<SessionPrefix | undefined> {
    const folder = sessionFolder(this.#folder, id);
    const epochs = await this.#epochs(folder);
    const last = epochs.at(-1);
    if (last === undefined) throw new SessionError("missing", "there is no such session");
    const { start, baseline, records } = await readEpoch(folder, last, growing);
    const prefix = cutOff(records, turn);
    if (prefix === undefined) return undefined;
    let call = highestCall(prefix.records);
    for (const epoch of epochs.slice(0, -1)) {
      const earlier = highestCall((await readEpoch(folder, epoch)).records);
      if (earlier > call) call = earlier;
    }
    return { ...prefix, start, baseline, call };
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

  /** The last epoch of a session and when it was written last, in milliseconds. @throws {SessionError} */
  async lastLog(id: SessionId): Promise<{ readonly path: string; readonly modified: number }> {
    const folder = sessionFolder(this.#folder, id);
    const last = (await this.#epochs(folder)).at(-1);
    if (last === undefined) throw new SessionError("missing", "there is no such session");
    const path = logFile(folder, last);
    return { path, modified: (await stat(path)).mtimeMs };
  }

  /** The epochs that have a log, in rising order. */
  async #epochs(folder: string): Promise<readonly number[]> {
    try {
      const names = await readdir(folder);
      return names
        .map(epochOfLog)
        .filter((epoch) => epoch !== undefined)
        .sort((a, b) => a - b);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return [];
      const message = `can't read the session ${quoteText(folder)}: ${errnoOf(error)}; see docs/runbook.md#session-unreadable`;
      throw new SessionError("unreadable", message, error);
    }
  }

  #unwritable(error: unknown): SessionError {
    const message = `can't make sessions in ${quoteText(this.#folder)}: ${errnoOf(error)}; see docs/runbook.md#session-unwritable`;
    return new SessionError("unwritable", message, error);
  }
}
