/** Reads one epoch of a session, or refuses it naming the line: nothing is guessed about a damaged one. */
import { readFile } from "node:fs/promises";
import { Baseline, decodeUtf8, type EpochEnd, parseJson, parseJsonBytes, quoteText, SessionRecord, sha256 } from "@boxmaker/proto";
import { errnoOf } from "./errno-of.ts";
import { SessionError } from "./session-error.ts";
import { baselineFile, logFile } from "./session-names.ts";

/** The version of the baseline file and of the session log. */
export const SESSION_FORMAT = 1;

/** The first record of a log. */
export type SessionStart = Extract<SessionRecord, { readonly kind: "session_start" }>;

/** One epoch as it is on disk. */
export interface EpochOnDisk {
  readonly start: SessionStart;
  readonly baseline: Baseline;
  /** Everything after the first record, up to the end of the epoch. */
  readonly records: readonly SessionRecord[];
  /** The last record, where the epoch has ended. */
  readonly end: EpochEnd | undefined;
  /** The log's length in bytes. */
  readonly length: number;
}

type Log = Omit<EpochOnDisk, "baseline" | "length">;

const NEWLINE = 0x0a;

/** The refusal of a log that isn't whole. `problem` is printable. */
export function damaged(path: string, line: number, problem: string): SessionError {
  return new SessionError(
    "damaged",
    `can't use the session log ${quoteText(path)}: line ${line}: ${problem}; see docs/runbook.md#session-log-damaged`,
  );
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const message = `can't read the session file ${quoteText(path)}: ${errnoOf(error)}; see docs/runbook.md#session-unreadable`;
    throw new SessionError("unreadable", message, error);
  }
}

/** Whether a record stands where one of its kind may: a start at the beginning, and nothing behind an end. */
function misplaced(record: SessionRecord, index: number, before: SessionRecord | undefined): string | undefined {
  if (before?.kind === "epoch_end") return "a record after the end of the epoch";
  if ((record.kind === "session_start") === (index === 0)) return undefined;
  return index === 0 ? "expected the start of the session" : "a second start of the session";
}

/** @throws {SessionError} `damaged` */
function parseLog(path: string, bytes: Buffer): Log {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw damaged(path, lineOfBadByte(bytes), "not UTF-8");
  const lines = text.split("\n");
  const last = lines.pop();
  const parsed: SessionRecord[] = [];
  for (const [index, line] of lines.entries()) {
    const record = parseJson(SessionRecord, line);
    if (record.kind === "invalid") throw damaged(path, index + 1, record.problem);
    const problem = misplaced(record.value, index, parsed.at(-1));
    if (problem !== undefined) throw damaged(path, index + 1, problem);
    parsed.push(record.value);
  }
  if (last !== "") throw damaged(path, lines.length + 1, "the line is torn");
  const [start, ...records] = parsed;
  if (start?.kind !== "session_start") throw damaged(path, 1, "the log is empty");
  if (start.version !== SESSION_FORMAT) throw damaged(path, 1, `expected version ${SESSION_FORMAT}, got ${start.version}`);
  const end = records.at(-1);
  return end?.kind === "epoch_end" ? { start, records: records.slice(0, -1), end } : { start, records, end: undefined };
}

function lineOfBadByte(bytes: Buffer): number {
  let line = 1;
  for (let from = 0; from < bytes.length; line++) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end === -1 ? bytes.length : end + 1;
    if (decodeUtf8(bytes.subarray(from, to)) === undefined) return line;
    from = to;
  }
  return line;
}

/**
 * Reads one epoch of a session.
 *
 * @param growing whether a last line without its end is one that is being written, and left out
 * @throws {SessionError} `unreadable`, or `damaged` with the line: a torn last line, one that is no record, or is out of place
 */
export async function readEpoch(folder: string, epoch: number, growing = false): Promise<EpochOnDisk> {
  const path = logFile(folder, epoch);
  const whole = await read(path);
  const bytes = growing ? whole.subarray(0, whole.lastIndexOf(NEWLINE) + 1) : whole;
  const log = parseLog(path, bytes);
  if (log.start.epoch !== epoch) throw damaged(path, 1, `expected epoch ${epoch}, got ${log.start.epoch}`);
  const baselinePath = baselineFile(folder, epoch);
  const baselineBytes = await read(baselinePath);
  if (sha256(baselineBytes) !== log.start.baseline)
    throw damaged(path, 1, `the baseline ${quoteText(baselinePath)} is not the one it names`);
  const baseline = parseJsonBytes(Baseline, baselineBytes);
  if (baseline.kind === "invalid") throw damaged(path, 1, `the baseline ${quoteText(baselinePath)}: ${baseline.problem}`);
  return { ...log, baseline: baseline.value, length: bytes.length };
}
