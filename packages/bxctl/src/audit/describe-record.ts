/** One line for one record of the audit log: what happened, to which call, by which rule. Printable. */
import {
  type ApprovalAuditEvent,
  type AuditEvent,
  type DecisionEvent,
  escapeText,
  type Label,
  quoteText,
  type RecordedArguments,
  unreachable,
} from "@boxmaker/proto";
import { phraseDenial } from "../approvals/denial-phrase.ts";
import { phraseLabel } from "../approvals/describe-ask.ts";
import { phraseTool } from "../chat/event-lines.ts";

/** Longer texts are cut in a list; the record has them whole. */
const MAX_SHOWN = 200;

function phraseText(text: string): string {
  const characters = [...text];
  if (characters.length <= MAX_SHOWN) return quoteText(text);
  return `${quoteText(characters.slice(0, MAX_SHOWN).join(""))} and ${characters.length - MAX_SHOWN} characters more`;
}

/** The arguments of a recorded call: those that aren't in the record itself by size and hash. */
export function phraseArguments(recorded: RecordedArguments): string {
  if (recorded.form === "unread") return `${recorded.text.bytes} bytes that don't fit the tool`;
  return Object.entries(recorded.values)
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [`${name} ${typeof value === "string" ? phraseText(value) : `of ${value.bytes} bytes (blob ${value.sha256})`}`];
    })
    .join(", ");
}

function isSame(a: Label, b: Label): boolean {
  return a.taint === b.taint && a.untrusted === b.untrusted;
}

function phraseRaise(before: Label | null, raises: Label | null): readonly string[] {
  return raises === null || (before !== null && isSame(before, raises)) ? [] : [`raises the session to ${phraseLabel(raises)}`];
}

function phraseRule({ outcome, reason, grant }: Pick<DecisionEvent, "outcome" | "reason" | "grant">): readonly string[] {
  const why = outcome === "denied" && reason !== null ? [phraseDenial(reason)] : [];
  return grant === null ? why : [...why, `grant ${quoteText(grant)}`];
}

function describeDecision(event: DecisionEvent): string {
  const { outcome, session, call, tool, before, raises } = event;
  return [
    `${outcome} ${phraseTool(tool)}: ${phraseArguments(event.arguments)}`,
    `session ${session}, call ${call}`,
    ...phraseRule(event),
    ...phraseRaise(before, raises),
  ].join("; ");
}

function describeApproval(event: ApprovalAuditEvent): string {
  const { answer, by, user, decision, reason, outcome, denial, before, raises } = event;
  const who = answer === "approved" || answer === "refused" ? ` by ${by}${user === null ? "" : ` (${quoteText(user)})`}` : "";
  const came =
    outcome === "denied" && denial !== null
      ? [`denied all the same: ${phraseDenial(denial)}`]
      : outcome === "changed"
        ? ["not run: it had changed since it was shown"]
        : [];
  return [
    `${answer}${who}: decision ${decision}`,
    ...(reason === null ? [] : [phraseText(reason)]),
    ...came,
    ...phraseRaise(before, raises),
  ].join("; ");
}

/** The line, without time and seq. */
export function describeEvent(event: AuditEvent): string {
  switch (event.kind) {
    case "started":
      return `brokerd ${escapeText(event.version)} started`;
    case "stopped":
      return "brokerd stopped";
    case "session_opened": {
      const { session, origin, ceiling, state, from } = event;
      const rewound = from === null ? "" : `; rewound from ${from.session} to turn ${from.turn}`;
      return `session ${session} opened; ${origin}, at most ${ceiling}, has seen ${phraseLabel(state)}${rewound}`;
    }
    case "decision":
      return describeDecision(event);
    case "approval":
      return describeApproval(event);
    case "result": {
      const { status, decision, bytes, truncated, elapsed_ms: elapsed } = event;
      return `${status}: decision ${decision}; ${bytes} bytes${truncated ? " (truncated)" : ""} in ${elapsed} ms`;
    }
    case "grants_changed": {
      const names = event.files.map(({ file }) => file).join(", ");
      return `grants changed: ${event.files.length} ${event.files.length === 1 ? "file" : "files"}${names === "" ? "" : `: ${phraseText(names)}`}`;
    }
    case "session_grant":
      return `allowed for session ${event.session} by its owner: grant ${quoteText(event.grant)}`;
    case "session_grant_ended":
      return `grant ${quoteText(event.grant)} ended: ${event.reason}`;
    case "label_reset":
      return `label of ${quoteText(event.path)} reset by its owner: ${phraseLabel(event.before)} to ${phraseLabel(event.after)}`;
    case "recovery":
      return `recovered a torn line of ${event.bytes} bytes at offset ${event.offset} of ${quoteText(event.file)}`;
    case "accepted_break": {
      const { file, line, lines, last_good: lastGood } = event;
      return `the owner accepted a break at line ${line} of ${quoteText(file)}: ${lines} lines after record ${lastGood} that nothing vouches for`;
    }
    case "accepted_loss":
      return `the owner accepted a log that isn't the one that was signed: ${event.size} records were, ${event.found} are there`;
    default:
      return unreachable(event);
  }
}
