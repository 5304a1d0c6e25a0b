/** The beginning of a session: its first turns, to the record. */
import { CallId, type SessionRecord } from "@boxmaker/proto";

/** The first turns of a session. A turn begins with what its user said and ends where the next one begins. */
export interface Prefix {
  readonly records: readonly SessionRecord[];
  /** How many turns the session has in all. */
  readonly turns: number;
}

/** Cuts records off behind their first `turn` turns. Undefined where there aren't so many. */
export function cutOff(records: readonly SessionRecord[], turn: number): Prefix | undefined {
  const starts = records.flatMap(({ kind }, index) => (kind === "user" ? [index] : []));
  if (turn > starts.length) return undefined;
  return { records: records.slice(0, starts[turn] ?? records.length), turns: starts.length };
}

/** The highest call id that the records say was sent; 0 where there is none. */
export function highestCall(records: readonly SessionRecord[]): CallId {
  const highest = records.reduce((most, record) => (record.kind === "call_sent" ? Math.max(most, record.call) : most), 0);
  return CallId.parse(highest);
}
