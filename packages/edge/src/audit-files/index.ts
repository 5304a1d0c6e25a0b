/** Entry `@boxmaker/edge/audit-files`: the bytes of an audit log, and of its checkpoints, and whether they belong together. */
export { compareLog, type ListedLog, type LogComparison, type ReadTrees } from "./compare-log.ts";
export { readAuditEntries, readAuditFile } from "./read-audit-files.ts";
export {
  type DayCheckpoint,
  listDayCheckpoints,
  type NewestCheckpoint,
  type NewestReading,
  readCheckpointFile,
  readListedKeys,
  readNewestCheckpoint,
} from "./read-checkpoints.ts";
export { type FileLine, readFirstLine, readLastLine, readLineAt } from "./read-line-at.ts";
