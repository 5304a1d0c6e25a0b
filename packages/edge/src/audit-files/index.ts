/** Entry `@boxmaker/edge/audit-files`: the bytes of an audit log. */
export { readAuditEntries, readAuditFile } from "./read-audit-files.ts";
export { type FileLine, readFirstLine, readLastLine, readLineAt } from "./read-line-at.ts";
