/** Points in time as text: one spelling per instant. */
import { z } from "zod";

const SPELLING = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/u;
const FIRST = Date.UTC(1970, 0, 1);
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function isCanonical(text: string): boolean {
  if (!SPELLING.test(text)) return false;
  const milliseconds = Date.parse(text);
  // A day that doesn't exist (30 February) either fails to parse or comes back as another day.
  return milliseconds >= FIRST && milliseconds <= LAST && new Date(milliseconds).toISOString() === text;
}

/** RFC 3339 in UTC with exactly three fraction digits and `Z`, years 1970 to 9999, real calendar days only. */
export const Timestamp = z.string().refine(isCanonical, "expected an RFC 3339 UTC time with milliseconds").brand<"Timestamp">();
export type Timestamp = z.infer<typeof Timestamp>;

/**
 * The timestamp of a point in time given in milliseconds since 1970-01-01T00:00:00Z.
 *
 * @throws {RangeError} when it lies outside the years 1970 to 9999
 */
export function timestampFromMillis(milliseconds: number): Timestamp {
  if (!Number.isInteger(milliseconds) || milliseconds < FIRST || milliseconds > LAST) {
    throw new RangeError(`expected milliseconds within the years 1970 to 9999, got ${milliseconds}`);
  }
  return new Date(milliseconds).toISOString() as Timestamp;
}

/** Milliseconds since 1970-01-01T00:00:00Z. */
export function millisFromTimestamp(timestamp: Timestamp): number {
  return Date.parse(timestamp);
}
