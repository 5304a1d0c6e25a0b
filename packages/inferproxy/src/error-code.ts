/** Names an error of the system for a log line, without its message, which may hold a peer's text. */

/** The system's code such as `ECONNREFUSED`, or the name of the error's class. */
export function errorCode(error: unknown): string {
  if (error instanceof Error) {
    return "code" in error && typeof error.code === "string" ? error.code : error.name;
  }
  return typeof error;
}
