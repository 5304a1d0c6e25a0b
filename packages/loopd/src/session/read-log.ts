/** Reads a session's log, or refuses it naming the line: nothing is guessed about a damaged one. */
import { readFile } from "node:fs/promises";
import { Baseline, decodeUtf8, parseJson, parseJsonBytes, quoteText, SessionRecord, sha256 } from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";
import { SESSION_FORMAT } from "./baseline.ts";
import { SessionError } from "./session-error.ts";
import { baselineFile, logFile } from "./session-files.ts";

/** The first record of a log. */
export type SessionStart = Extract<SessionRecord, { readonly kind: "session_start" }>;

/** One epoch as it is on disk. */
export interface EpochOnDisk {
  readonly start: SessionStart;
  readonly baseline: Baseline;
  /** Everything after the first record. */
  readonly records: readonly SessionRecord[];
  /** The log's length in bytes. */
  readonly length: number;
}

const NEWLINE = 0x0a;

function damaged(path: string, line: number, problem: string): SessionError {
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

/**
 * Reads the records of one log.
 *
 * @throws {SessionError} `damaged`, with the line, for a torn last line, a line that is no record, or a first one out of place
 */
export function parseLog(
  path: string,
  bytes: Buffer,
): { readonly start: SessionStart; readonly records: readonly SessionRecord[] } {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw damaged(path, lineOfBadByte(bytes), "not UTF-8");
  const lines = text.split("\n");
  const last = lines.pop();
  const parsed = lines.map((line, index): SessionRecord => {
    const record = parseJson(SessionRecord, line);
    if (record.kind === "invalid") throw damaged(path, index + 1, record.problem);
    if ((record.value.kind === "session_start") !== (index === 0)) {
      throw damaged(path, index + 1, index === 0 ? "expected the start of the session" : "a second start of the session");
    }
    return record.value;
  });
  if (last !== "") throw damaged(path, lines.length + 1, "the line is torn");
  const [start, ...records] = parsed;
  if (start?.kind !== "session_start") throw damaged(path, 1, "the log is empty");
  if (start.version !== SESSION_FORMAT) throw damaged(path, 1, `expected version ${SESSION_FORMAT}, got ${start.version}`);
  return { start, records };
}

function lineOfBadByte(bytes: Buffer): number {
  let line = 1;
  for (let from = 0; from < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, from);
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
 * @throws {SessionError}
 */
export async function readEpoch(folder: string, epoch: number, growing = false): Promise<EpochOnDisk> {
  const path = logFile(folder, epoch);
  const whole = await read(path);
  const bytes = growing ? whole.subarray(0, whole.lastIndexOf(NEWLINE) + 1) : whole;
  const { start, records } = parseLog(path, bytes);
  if (start.epoch !== epoch) throw damaged(path, 1, `expected epoch ${epoch}, got ${start.epoch}`);
  const baselinePath = baselineFile(folder, epoch);
  const baselineBytes = await read(baselinePath);
  if (sha256(baselineBytes) !== start.baseline)
    throw damaged(path, 1, `the baseline ${quoteText(baselinePath)} is not the one it names`);
  const baseline = parseJsonBytes(Baseline, baselineBytes);
  if (baseline.kind === "invalid") throw damaged(path, 1, `the baseline ${quoteText(baselinePath)}: ${baseline.problem}`);
  return { start, baseline: baseline.value, records, length: bytes.length };
}
