/** The day of a time or a file, by itself: threads that only read lines start sooner without a schema library. */
import type { Timestamp } from "../ids/timestamp.ts";
import type { DayFileName } from "./log-files.ts";

const DAY_LENGTH = "YYYY-MM-DD".length;

/** The UTC day, `YYYY-MM-DD`, of a time or of a day file's name. */
export function dayOf(text: Timestamp | DayFileName): string {
  return text.slice(0, DAY_LENGTH);
}
