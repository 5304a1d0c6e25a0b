/** `bxctl audit show`: the log as lines that a person reads, or as its own records. */
import { systemClock } from "@boxmaker/edge/log";
import type { AuditRecord } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { formatOwnerTime } from "../time/owner-time.ts";
import { type AuditCommand, type FilterFlags, readFilter } from "./audit-command.ts";
import { describeEvent } from "./describe-record.ts";
import { RecordedLog, UnreadableLogError } from "./read-records.ts";

const MARKS = { first: "", rest: "    " };

/** Writes one record. `doubtful`: nothing vouches for it. */
export function writeRecord({ out, json }: Pick<AuditCommand, "out" | "json">, record: AuditRecord, doubtful: boolean): void {
  if (json) {
    out.raw(jsonLine(doubtful ? { ...record, doubtful } : record));
    return;
  }
  const doubt = doubtful ? "NOTHING VOUCHES FOR THIS: " : "";
  out.line(`${formatOwnerTime(record.time)}  ${record.seq}  ${doubt}${describeEvent(record.event)}`, MARKS);
}

/** Shows the records that the flags choose; 1 where the log isn't whole or can't be read, after all that could be. */
export async function showRecords(command: AuditCommand, flags: FilterFlags): Promise<ExitStatus> {
  const { directory, err } = command;
  const filter = readFilter(flags, systemClock.now());
  if (filter.kind === "usage") {
    err.line(`bxctl: ${filter.problem}`);
    return 2;
  }
  try {
    const log = await RecordedLog.open(directory, filter.value.since);
    for (const { record, doubtful } of log.entries()) {
      if (filter.value.takes(record)) writeRecord(command, record, doubtful);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    err.line(`bxctl: ${error.message}`);
    return 1;
  }
}
