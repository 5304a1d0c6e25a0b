/** `bxctl grants replay`: the audit log decided again, by other grants, or by those that were in force. */

import { systemClock } from "@boxmaker/edge/log";
import { type ChangedDecision, type PastOutcome, type Replay, replay } from "@boxmaker/policy/analysis";
import { quoteText, unreachable } from "@boxmaker/proto";
import { readSince } from "../audit/audit-command.ts";
import { logSources } from "../audit/log-sources.ts";
import { RecordedLog, UnreadableLogError } from "../audit/read-records.ts";
import { phraseTool } from "../chat/event-lines.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { end, type GrantsCommand } from "./grants-command.ts";
import { loadConfig, loadSet } from "./load-set.ts";

const MARKS = { first: "", rest: "      " };

/** Flags as they were typed. */
export interface ReplayFlags {
  readonly with?: string | undefined;
  readonly since?: string | undefined;
}

function phrasePast({ outcome, reason, grant }: PastOutcome): string {
  return `${outcome}${reason === null ? "" : ` (${reason})`}${grant === null ? "" : ` by ${quoteText(grant)}`}`;
}

function changedLine({ seq, session, tool, target, before, after, fields, wider }: ChangedDecision): string {
  const isSame = before.outcome === after.outcome && before.reason === after.reason;
  const what = isSame ? `${after.outcome}, with another ${fields.join(", ")}` : `${phrasePast(before)} -> ${phrasePast(after)}`;
  return `${wider ? "WIDER  " : "       "}record ${seq}, session ${session}: ${phraseTool(tool)} ${quoteText(target)}: ${what}`;
}

function phraseSkipped(why: Replay["skipped"][number]["why"]): string {
  switch (why) {
    case "not_policy":
      return "were denied by brokerd itself, and by no rule";
    case "policy_version":
      return "were taken by another version of the rules";
    case "text_missing":
      return "name texts that aren't kept any more";
    case "session_unknown":
      return "belong to a session that the log doesn't open";
    default:
      return unreachable(why);
  }
}

function lines({ decided, same, changed, skipped }: Replay): readonly string[] {
  const bySkip = Map.groupBy(skipped, ({ why }) => why);
  return [
    ...changed.map(changedLine),
    ...[...bySkip].map(([why, them]) => `not taken again: ${them.length} decisions ${phraseSkipped(why)}`),
    `grants replay: ${same} of ${decided} decisions come to the same`,
  ];
}

/** Without other grants, 1 where a decision comes to something else than is on record. */
export async function replayGrants(command: GrantsCommand, flags: ReplayFlags): Promise<ExitStatus> {
  const since = readSince(flags.since, systemClock.now());
  if (since.kind === "usage") return end(command, 2, since.problem).status;
  const reading = await loadConfig(command);
  if (reading.kind === "ended") return reading.status;
  const { config } = reading;
  const other = flags.with === undefined ? undefined : await loadSet(command, config, flags.with);
  if (other?.kind === "ended") return other.status;
  try {
    const log = await RecordedLog.open(config.audit);
    const replayed = replay(log.records(), logSources(log, config.forbidden), {
      ...(other === undefined ? {} : { with: other.set }),
      ...(since.value === undefined ? {} : { since: since.value }),
    });
    if (command.json) command.out.raw(jsonLine(replayed));
    else for (const line of lines(replayed)) command.out.line(line, MARKS);
    if (other !== undefined || replayed.changed.length === 0) return 0;
    return end(command, 1, "grants: the log doesn't follow from its own inputs; see docs/runbook.md#replay-differs").status;
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return end(command, 1, error.message).status;
  }
}
