/** The day of a time or a file, by itself: threads that only read lines start sooner without a schema library. */

const DAY_LENGTH = "YYYY-MM-DD".length;

/** The UTC day, `YYYY-MM-DD`, of a timestamp or of a day file's name. */
export function dayOf(text: string): string {
  return text.slice(0, DAY_LENGTH);
}
