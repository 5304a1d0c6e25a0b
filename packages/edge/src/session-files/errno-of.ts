/** What the operating system said, as a word that is safe to print. */

/** The error's code (`ENOENT`, `ECONNREFUSED`), or `unknown error`; never its message, which can hold anything. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}
