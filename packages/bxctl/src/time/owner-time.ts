/** Points in time as the owner reads and types them: in the zone of their machine. */
import { millisFromTimestamp, quoteText, type Timestamp, timestampFromMillis } from "@boxmaker/proto";

const MINUTE_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 24 * 60 * MINUTE_MS,
  w: 7 * 24 * 60 * MINUTE_MS,
};
const SPAN = /^([1-9][0-9]{0,6})([smhdw])$/u;
const WRITTEN = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.\d{1,3})?(Z|[+-]\d{2}:\d{2})?)?$/u;

/** Minutes that the machine's zone is ahead of UTC at a moment, given in milliseconds since 1970-01-01T00:00:00Z. */
function zoneOffset(milliseconds: number): number {
  return -new Date(milliseconds).getTimezoneOffset();
}

/**
 * `YYYY-MM-DD hh:mm:ss ±hh:mm`, cut off at the second.
 *
 * @param offsetOf minutes ahead of UTC at a moment; the machine's own zone unless given
 */
export function formatOwnerTime(timestamp: Timestamp, offsetOf: (milliseconds: number) => number = zoneOffset): string {
  const milliseconds = millisFromTimestamp(timestamp);
  const offset = offsetOf(milliseconds);
  const [day = "", time = ""] = new Date(milliseconds + offset * MINUTE_MS).toISOString().split(/[T.]/u);
  const size = Math.abs(offset);
  const hours = String(Math.floor(size / 60)).padStart(2, "0");
  return `${day} ${time} ${offset < 0 ? "-" : "+"}${hours}:${String(size % 60).padStart(2, "0")}`;
}

export type TimeReading =
  | { readonly kind: "time"; readonly time: Timestamp }
  | { readonly kind: "invalid"; readonly problem: string };

/** The moment that a date and time name, in the machine's zone where they name none; undefined where there is no such day or time. */
function readWritten(text: string): number | undefined {
  const found = WRITTEN.exec(text);
  if (found === null) return undefined;
  const [, year = "", month = "", day = "", hour = "00", minute = "00", second = "00", zone] = found;
  const digits = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  // Read as UTC first: a day that doesn't exist comes back as another one.
  const asUtc = Date.parse(`${digits}.000Z`);
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(digits)) return undefined;
  const milliseconds = Date.parse(`${digits}.000${zone ?? ""}`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/**
 * Reads a moment as an owner types it: a span (`90s`, `30m`, `2h`, `7d`, `2w`), a day, or a day and a time, which is the machine's
 * local one unless it ends in `Z` or an offset.
 *
 * @param now milliseconds since 1970-01-01T00:00:00Z, where a span begins
 * @param direction whether a span leads back or ahead
 */
export function readOwnerTime(text: string, now: number, direction: "back" | "ahead"): TimeReading {
  const invalid: TimeReading = {
    kind: "invalid",
    problem: `${quoteText(text)} is no time: expected a span like 2h or 7d, or a time like 2027-01-31 or 2027-01-31T18:00`,
  };
  const [, count, unit] = SPAN.exec(text) ?? [];
  const span = count === undefined || unit === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
  const milliseconds = span === undefined ? readWritten(text) : now + (direction === "back" ? -span : span);
  if (milliseconds === undefined) return invalid;
  try {
    return { kind: "time", time: timestampFromMillis(Math.max(0, milliseconds)) };
  } catch {
    // Beyond the year 9999: no record and no grant can name it.
    return invalid;
  }
}
