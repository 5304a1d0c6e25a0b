/** Entry `@boxmaker/edge/audit-files`: the bytes of an audit log. */
export { readAuditEntries, readAuditFile } from "./read-audit-files.ts";
