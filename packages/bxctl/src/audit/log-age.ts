/**
 * How late the last sign of life in an audit log is, and on which days nobody gave one. brokerd writes a checkpoint on each day that it
 * runs, without a record too. A log that was put back from an old copy, or whose brokerd is gone, is whole: only its age gives it away.
 */
import type { ChainHead, Timestamp } from "@boxmaker/proto";

/** Days without a checkpoint between two that have one, both ends included. `withRecords`: on how many of them there are records. */
export interface DayGap {
  readonly from: string;
  readonly to: string;
  readonly withRecords: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DAY_LENGTH = "YYYY-MM-DD".length;

function dayAt(day: string, distance: number): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + distance * DAY_MS).toISOString().slice(0, DAY_LENGTH);
}

/**
 * The gaps between these days, oldest first.
 *
 * @param signed days (`YYYY-MM-DD`) that have a checkpoint, in any order
 * @param recorded days that have a file of records
 */
export function gapsBetween(signed: readonly string[], recorded: readonly string[]): readonly DayGap[] {
  const days = [...new Set(signed)].sort();
  return days.flatMap((day, index) => {
    const next = days[index + 1];
    const from = dayAt(day, 1);
    if (next === undefined || from === next) return [];
    const to = dayAt(next, -1);
    return [{ from, to, withRecords: recorded.filter((each) => each >= from && each <= to).length }];
  });
}

/**
 * Why a log is stale, as a printable phrase; undefined where its last record or the beginning of the last signed day isn't before `oldest`.
 */
export function whyStale({ time }: ChainHead, signed: readonly string[], oldest: Timestamp): string | undefined {
  const day = signed.toSorted().at(-1);
  const isFresh = (time !== null && time >= oldest) || (day !== undefined && `${day}T00:00:00.000Z` >= oldest);
  if (isFresh) return undefined;
  const last = time === null ? "no record" : `the last record of ${time}`;
  return `expected a record or a day's checkpoint since ${oldest}, found ${last} and ${day === undefined ? "no checkpoint" : `the last checkpoint of ${day}`}`;
}
