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
import { type Ended, end, type GrantsCommand } from "./grants-command.ts";
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

/** Why decisions weren't taken again, with how many there are of each kind. */
function skippedPhrases(skipped: Replay["skipped"]): readonly string[] {
  const bySkip = Map.groupBy(skipped, ({ why }) => why);
  return [...bySkip].map(([why, them]) => `${them.length} decisions ${phraseSkipped(why)}`);
}

function lines({ decided, same, changed, skipped }: Replay): readonly string[] {
  return [
    ...changed.map(changedLine),
    ...skippedPhrases(skipped).map((phrase) => `not taken again: ${phrase}`),
    `grants replay: ${same} of ${decided} decisions come to the same`,
  ];
}

/** That nothing differs says nothing where nothing was compared. */
function nothingDecided(command: GrantsCommand, { skipped }: Replay): Ended {
  const why = skippedPhrases(skipped).join("; ");
  return end(command, 1, `grants: none of the decisions could be taken again: ${why}; see docs/runbook.md#replay-nothing`);
}

/** 1 where no decision could be taken again and, without other grants, where one comes to something else than is on record. */
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
    const replayed = replay(log.records(), logSources(log), {
      ...(other === undefined ? {} : { with: other.set }),
      ...(since.value === undefined ? {} : { since: since.value }),
    });
    if (command.json) command.out.raw(jsonLine(replayed));
    else for (const line of lines(replayed)) command.out.line(line, MARKS);
    if (replayed.decided === 0 && replayed.skipped.length > 0) return nothingDecided(command, replayed).status;
    if (other !== undefined || replayed.changed.length === 0) return 0;
    return end(command, 1, "grants: the log doesn't follow from its own inputs; see docs/runbook.md#replay-differs").status;
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return end(command, 1, error.message).status;
  }
}
