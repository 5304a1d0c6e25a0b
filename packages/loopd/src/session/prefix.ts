/** The beginning of a session: its first turns, to the record. */
import type { EpochOnDisk, SessionStart } from "@boxmaker/edge/session-files";
import { type Baseline, CallId, type EpochEnd, type SessionRecord } from "@boxmaker/proto";

/** The first turns of a session, and what a session needs that begins with them. */
export interface SessionPrefix {
  readonly start: SessionStart;
  readonly baseline: Baseline;
  readonly records: readonly SessionRecord[];
  /** How many turns the session has in all. */
  readonly turns: number;
  /** The last call that was sent in them; 0 where there was none. */
  readonly call: CallId;
}

type CallSent = Extract<SessionRecord, { readonly kind: "call_sent" }>;

/** The call of the highest id that the records say was sent. */
function lastCall(records: readonly SessionRecord[]): CallSent | undefined {
  return records.reduce<CallSent | undefined>(
    (last, record) => (record.kind === "call_sent" && record.call > (last?.call ?? 0) ? record : last),
    undefined,
  );
}

/** The highest call id that the records say was sent; 0 where there is none. */
export function highestCall(records: readonly SessionRecord[]): CallId {
  return CallId.parse(lastCall(records)?.call ?? 0);
}

function turnStarts(records: readonly SessionRecord[]): readonly number[] {
  return records.flatMap(({ kind }, index) => (kind === "user" ? [index] : []));
}

/**
 * Finds where the first `turn` turns of a session end. A turn begins with what its user said and ends where the next one begins; one that
 * was carried into the next epoch counts once. Where an epoch ended right there, the prefix is the next one's beginning: its summary, unless
 * that is of the turn behind them, too.
 *
 * @returns undefined where there aren't so many turns
 */
export function findPrefix(epochs: readonly EpochOnDisk[], turn: number): SessionPrefix | undefined {
  let found: Omit<SessionPrefix, "turns"> | undefined;
  let turns = 0;
  let over = 0;
  let carry: EpochEnd["carry"] | undefined;
  let sent: CallSent | undefined;
  for (const { start, baseline, records, end } of epochs) {
    const starts = turnStarts(records);
    const kept = turn - over;
    const isSummedUpFurther = carry === "message" && kept === 0;
    if (kept >= 0 && kept <= starts.length && !isSummedUpFurther) {
      const prefix = records.slice(0, starts[kept] ?? records.length);
      const last = lastCall(prefix);
      // What the summary is of was called before it: the ids of a session that begins with it go on behind those.
      const earlier = sent !== undefined && last === undefined ? [sent] : [];
      found = { start, baseline, records: [...earlier, ...prefix], call: CallId.parse((last ?? sent)?.call ?? 0) };
    }
    turns = over + starts.length;
    carry = end?.carry;
    over = turns - (carry === "turn" || carry === "message" ? 1 : 0);
    // The calls of a turn that goes on in the next epoch are none that the summary is of.
    sent = lastCall(carry === "turn" ? records.slice(0, starts.at(-1)) : records) ?? sent;
  }
  return found === undefined ? undefined : { ...found, turns };
}
