/** `bxctl why SEQ`: one decision of the past in one screen, from the log alone. */
import { decisionAt, explain, explanationBody, type RecordedDecision } from "@boxmaker/policy/analysis";
import {
  type ApprovalAuditEvent,
  type AuditEvent,
  type AuditRecord,
  type AuditSeq,
  type Explanation,
  parseApprovalId,
  quoteText,
  type Timestamp,
  unreachable,
} from "@boxmaker/proto";
import { phraseDenial } from "../approvals/denial-phrase.ts";
import { phraseLabel } from "../approvals/describe-ask.ts";
import { phraseTool } from "../chat/event-lines.ts";
import { explanationLines, field, phraseOutcome } from "../grants/describe-explanation.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { formatOwnerTime } from "../time/owner-time.ts";
import type { AuditCommand } from "./audit-command.ts";
import { phraseArguments } from "./describe-record.ts";
import { logSources } from "./log-sources.ts";
import { RecordedLog, UnreadableLogError } from "./read-records.ts";

const MARKS = { first: "", rest: "      " };

type ResultEvent = Extract<AuditEvent, { kind: "result" }>;

interface At<E> {
  readonly seq: AuditSeq;
  readonly time: Timestamp;
  readonly event: E;
}

/** What the log says of one call from its decision on. */
interface Story {
  readonly decision: AuditSeq;
  readonly answers: readonly At<ApprovalAuditEvent>[];
  readonly result: At<ResultEvent> | undefined;
  /** What the record with the number that was asked for is, where it is about no call. */
  readonly other: AuditRecord["event"]["kind"] | undefined;
  /** Nothing vouches for that record. */
  readonly doubtful: boolean;
  /** Why the log couldn't be read to its end, where it couldn't. */
  readonly cut: string | undefined;
}

/** Finds the call that a record belongs to, and what came of it; `undefined` where there is no such record. */
function findStory(log: RecordedLog, seq: AuditSeq): Story | undefined {
  let story: Story | undefined;
  try {
    for (const { record, doubtful } of log.entries()) {
      const { event, time } = record;
      if (record.seq === seq) {
        const isAnswer = event.kind === "approval" || event.kind === "result";
        // What came before, as the answer before a result, is found by the number of the decision.
        // Never in a circle: an answer comes after its decision.
        if (isAnswer && !doubtful && event.decision < seq) return findStory(log, event.decision);
        const other = event.kind === "decision" || isAnswer ? undefined : event.kind;
        story = { decision: record.seq, answers: [], result: undefined, other, doubtful, cut: undefined };
      }
      if (story === undefined || doubtful) continue;
      if (event.kind === "approval" && event.decision === story.decision) {
        story = { ...story, answers: [...story.answers, { seq: record.seq, time, event }] };
      }
      if (event.kind === "result" && event.decision === story.decision)
        return { ...story, result: { seq: record.seq, time, event } };
    }
    return story;
  } catch (error) {
    if (!(error instanceof UnreadableLogError) || story === undefined) throw error;
    // What has been found stands: the chain vouches for it.
    return { ...story, cut: error.message };
  }
}

function phraseAnswer({ seq, time, event }: At<ApprovalAuditEvent>): string {
  const { answer, by, user, reason, outcome, denial, before, raises } = event;
  const who = answer === "approved" || answer === "refused" ? ` by ${by}${user === null ? "" : ` (${quoteText(user)})`}` : "";
  const why = reason === null ? "" : `: ${quoteText(reason)}`;
  const isRaise = raises !== null && (before?.taint !== raises.taint || before.untrusted !== raises.untrusted);
  return `${answer}${who}${why}${phraseCome(outcome, denial)}${isRaise ? `; raised the session to ${phraseLabel(raises)}` : ""}, ${formatOwnerTime(time)} (record ${seq})`;
}

function phraseCome(outcome: ApprovalAuditEvent["outcome"], denial: ApprovalAuditEvent["denial"]): string {
  switch (outcome) {
    case "denied":
      return `; denied all the same${denial === null ? "" : `: ${phraseDenial(denial)}`}`;
    case "changed":
      return "; not run: it had changed since it was shown";
    case "allowed":
    case "ask":
      return "; it ran";
    case null:
      return "; it didn't run";
    default:
      return unreachable(outcome);
  }
}

function phraseResult({ seq, event }: At<ResultEvent>): string {
  return `${event.status}, ${event.bytes} bytes${event.truncated ? ", truncated" : ""}, after ${event.elapsed_ms} ms (record ${seq})`;
}

function bodyOf(found: RecordedDecision): Explanation["body"] | undefined {
  if (found.situation === null) return undefined;
  const { origin, ceiling } = found.situation.state;
  const raisedBy = found.raisedBy.map(({ seq: decision, ...raise }) => ({ decision, ...raise }));
  return explanationBody(explain(found.situation), { origin, ceiling, raisedBy });
}

/** What the record itself says of the rules, where the texts that it was decided by aren't kept any more. */
function recordedLines({ event }: RecordedDecision): readonly string[] {
  return [
    ...field(
      "rules",
      event.matched.map(({ grant, sha256, effect }) => `${quoteText(grant)}: ${effect}, sha256 ${sha256}`),
    ),
    ...field("seen so far", [phraseLabel(event.before)]),
    ...field("result is", event.label === null ? [] : [phraseLabel(event.label)]),
  ];
}

function storyLines(story: Story, found: RecordedDecision, body: Explanation["body"] | undefined): readonly string[] {
  const { event, record } = found;
  const { outcome, reason, grant, grant_sha256: hash, spends, raises, session, call } = event;
  const differs = body !== undefined && (body.outcome !== outcome || body.reason !== reason);
  const runs = outcome === "allowed" || story.answers.some((answer) => answer.event.raises !== null);
  const ended = story.result === undefined ? (runs ? ["no result on record"] : []) : [phraseResult(story.result)];
  return [
    ...field("call", [phraseArguments(event.arguments)]),
    ...field("session", [`${session}, call ${call}`]),
    ...field("time", [formatOwnerTime(record.time)]),
    ...field("by", grant === null ? ["no grant"] : [`${quoteText(grant)}, sha256 ${hash ?? "unknown"}`]),
    ...(body === undefined ? recordedLines(found) : explanationLines(body, false)),
    ...field("spends", spends === null ? [] : [`a use of ${quoteText(spends)}`]),
    ...field("raised to", raises === null ? [] : [phraseLabel(raises)]),
    ...field("answer", outcome === "ask" && story.answers.length === 0 ? ["none yet"] : story.answers.map(phraseAnswer)),
    ...field("came to", ended),
    ...field("NOTE", [
      ...(body === undefined ? ["its grants or arguments aren't kept any more: what is above is what the record itself says"] : []),
      ...(differs
        ? [`brokerd itself, not a rule, denied it, or these rules would give another answer: ${phraseOutcome(body)}`]
        : []),
    ]),
  ];
}

/** Explains the decision with this number, or the one that the answer or result with this number belongs to. */
export async function explainRecord(command: AuditCommand, text: string): Promise<ExitStatus> {
  const { directory, out, err, json } = command;
  const fail = (status: ExitStatus, problem: string): ExitStatus => {
    err.line(`bxctl: ${problem}`);
    return status;
  };
  const seq = parseApprovalId(text);
  if (seq === undefined) return fail(2, `${quoteText(text)} is no record: expected a number as bxctl audit show shows it`);
  try {
    const log = await RecordedLog.open(directory);
    const story = findStory(log, seq);
    if (story === undefined) return fail(1, `the audit log has no record ${seq}`);
    if (story.doubtful)
      return fail(1, `nothing vouches for record ${seq}: it lies behind a break; see docs/runbook.md#audit-broken`);
    if (story.other !== undefined) return fail(1, `record ${seq} is no decision but ${story.other}: bxctl audit show has its line`);
    const sources = logSources(log);
    const found = decisionAt(log.records(), sources, story.decision);
    if (found === undefined) return fail(1, `the audit log has no decision ${story.decision}`);
    const body = bodyOf(found);
    const answers = story.answers.map(({ seq: number, time, event }) => ({ seq: number, time, event }));
    if (json) out.raw(jsonLine({ decision: found.record, explanation: body ?? null, answers, result: story.result ?? null }));
    else {
      const title = `record ${found.record.seq}: ${phraseTool(found.event.tool)}: ${phraseOutcome(found.event)}`;
      out.line(out.style.bold(title), MARKS);
      for (const line of storyLines(story, found, body)) out.line(line, MARKS);
    }
    return story.cut === undefined ? 0 : fail(1, story.cut);
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return fail(1, error.message);
  }
}
