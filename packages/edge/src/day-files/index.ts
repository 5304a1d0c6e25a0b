/** Entry `@boxmaker/edge/day-files`: the bytes of day files alone, for a thread that has to start quickly. */
export { CHUNK_BYTES, readAuditFileInPlace } from "../audit-files/read-audit-files.ts";
export { findLineStart } from "../audit-files/read-line-at.ts";
