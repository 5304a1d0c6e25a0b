/** How long a record may be, and how long one that is read by pattern. */

/** The longest line, in bytes without its newline, that is a record: readers hold one line in memory. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024;

/** A path in a line of this length at most can't be too long, nor can there be too many values in it: in a longer one a match says nothing. */
export const MAX_PATTERN_BYTES = 4096;
