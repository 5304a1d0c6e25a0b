/** `bxctl audit tail`: the last records, and each new one as brokerd writes it. */
import { systemClock } from "@boxmaker/edge/log";
import { escapeText, quoteText } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { type AuditCommand, type FilterFlags, readFilter } from "./audit-command.ts";
import { DirectoryChanges, type FollowedLine, FollowedLog } from "./follow-log.ts";
import { writeRecord } from "./show-records.ts";

/** Records from before that are shown to begin with. */
const SHOWN_BEFORE = 10;

/**
 * Shows the newest records that the flags choose and then every new one, until `signal` aborts. Lines are shown as they come: whether the
 * log is whole is for `audit verify` to say.
 */
export async function tailRecords(command: AuditCommand, flags: FilterFlags, signal: AbortSignal): Promise<ExitStatus> {
  const { directory, err } = command;
  const filter = readFilter(flags, systemClock.now());
  if (filter.kind === "usage") {
    err.line(`bxctl: ${filter.problem}`);
    return 2;
  }
  const write = (line: FollowedLine): void => {
    if (line.kind === "record") writeRecord(command, line.record, false);
    else err.line(`bxctl: ${line.problem}; see bxctl audit verify and docs/runbook.md#audit-broken`);
  };
  const before: FollowedLine[] = [];
  let show = (line: FollowedLine): void => {
    before.push(line);
    if (before.length > SHOWN_BEFORE) before.shift();
  };
  const log = new FollowedLog(directory, (line) => {
    if (line.kind === "foreign" || filter.value.takes(line.record)) show(line);
  });
  try {
    using changes = new DirectoryChanges(directory);
    await log.catchUp();
    for (const line of before) write(line);
    show = write;
    while (await changes.next(signal)) await log.catchUp();
    return 0;
  } catch (error) {
    const problem = error instanceof Error ? error.message : "an unknown error";
    err.line(
      `bxctl: the audit log in ${quoteText(directory)} can't be followed: ${escapeText(problem)}; see docs/runbook.md#audit-directory`,
    );
    return 1;
  }
}
