/** `bxctl grants show` and `grants list`: the model's powers as a table, and what there is to say about each grant. */
import type { PolicyState } from "@boxmaker/policy";
import { type Finding, lint, type Power, powersOf } from "@boxmaker/policy/analysis";
import { quoteText, type SessionId, unreachable } from "@boxmaker/proto";
import { phraseDenial } from "../approvals/denial-phrase.ts";
import { phraseLabel } from "../approvals/describe-ask.ts";
import { readSession } from "../audit/audit-command.ts";
import { askAdmin } from "../box/ask-admin.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { formatOwnerTime } from "../time/owner-time.ts";
import { end, type GrantsCommand, presentTime } from "./grants-command.ts";
import { type Loaded, loadOwn } from "./load-set.ts";
import { type OwnGrant, withOwnGrants } from "./own-grants.ts";
import { NO_PAST, type Past, pastState, readPast } from "./read-past.ts";

export interface ShowFlags {
  readonly session?: string | undefined;
  readonly grants?: string | undefined;
}

const MARKS = { first: "", rest: "    " };
const DAY_MS = 24 * 3_600_000;
/** A grant that ends within a week is said to. */
const EXPIRING_WITHIN_MS = 7 * DAY_MS;

/** What the log knows; where it can't be read, that is said and nothing is assumed. */
async function pastOf(command: GrantsCommand, audit: string): Promise<Past> {
  const reading = await readPast(audit);
  if (reading.kind === "ok") return reading.past;
  command.err.line(`bxctl: ${reading.problem}; what follows takes every grant for unused and every path for unlabelled`);
  return NO_PAST;
}

interface Seen extends Pick<PolicyState, "label" | "origin" | "ceiling"> {
  readonly session: SessionId | null;
  /** Grants of the session itself. */
  readonly own: readonly OwnGrant[];
}

async function seenBy(
  command: GrantsCommand,
  flags: ShowFlags,
  loaded: Extract<Loaded, { kind: "ok" }>,
): Promise<Seen | ExitStatus> {
  const session = readSession(flags.session);
  if (session.kind === "usage") return end(command, 2, session.problem).status;
  if (session.value === undefined) return { ...loaded.config.newSession, origin: "terminal", session: null, own: [] };
  const reply = await askAdmin(command.places.adminSocket, { kind: "session", body: { session: session.value } }, "session_report");
  if (reply.kind !== "answer") return end(command, 1, reply.problem).status;
  const { state, origin, ceiling, grants } = reply.body;
  return { label: state, origin, ceiling, session: session.value, own: grants };
}

const WORDS = { auto: "auto", ask: "ask", deny: "gone" } as const;

function powerLines(powers: readonly Power[]): readonly string[] {
  const width = Math.max(...powers.map(({ target }) => quoteText(target).length), 0);
  return powers.map(({ tool, target, outcome, reason, grant, label }) => {
    const by = grant === null ? "" : `  ${quoteText(grant)}`;
    const why = outcome === "deny" && reason !== null ? `, ${phraseDenial(reason)}` : "";
    const result = outcome === "deny" || label === null ? "" : `, result ${phraseLabel(label)}`;
    return `${tool.padEnd(11)} ${quoteText(target).padEnd(width)}  ${WORDS[outcome].padEnd(4)}${by}${why}${result}`;
  });
}

/** The model's powers in a session's state, or in a new session's. */
export async function showPowers(command: GrantsCommand, flags: ShowFlags): Promise<ExitStatus> {
  const loaded = await loadOwn(command, flags.grants);
  if (loaded.kind === "ended") return loaded.status;
  const seen = await seenBy(command, flags, loaded);
  if (typeof seen === "number") return seen;
  const past = await pastOf(command, loaded.config.audit);
  const { session, own, ...rest } = seen;
  const state: PolicyState = { ...rest, ...pastState(past) };
  const powers = powersOf(withOwnGrants(loaded, own), { session, state, now: presentTime() });
  const { out, json } = command;
  if (json) {
    out.raw(jsonLine({ session, state: seen.label, origin: seen.origin, ceiling: seen.ceiling, powers }));
    return 0;
  }
  out.line(
    `${session === null ? "a new session" : `session ${session}`}, which has seen ${phraseLabel(seen.label)}, at most ${seen.ceiling}:`,
    MARKS,
  );
  if (powers.length === 0) out.line("nothing: no grant permits anything");
  for (const line of powerLines(powers)) out.line(line, MARKS);
  return 0;
}

function phraseOddity({ oddity }: Finding): string {
  switch (oddity.kind) {
    case "shadowed":
      return `shadowed: ${oddity.by.map(quoteText).join(", ")} denies all that it speaks about`;
    case "never_matches":
      return "can't match: no call there can be fits it";
    case "always_asks":
      return `always asks: ${oddity.by.map(quoteText).join(", ")} restricts it everywhere`;
    case "overlaps":
      return `overlaps ${oddity.with.map(quoteText).join(", ")}`;
    case "expired":
      return `expired ${formatOwnerTime(oddity.expires)}`;
    case "expiring":
      return `expires ${formatOwnerTime(oddity.expires)}`;
    case "spent":
      return "spent: its uses are used up";
    default:
      return unreachable(oddity);
  }
}

/** Every grant: how often and when it was last named by a decision, and what is odd about it. */
export async function listGrants(command: GrantsCommand, flags: ShowFlags): Promise<ExitStatus> {
  const loaded = await loadOwn(command, flags.grants);
  if (loaded.kind === "ended") return loaded.status;
  const past = await pastOf(command, loaded.config.audit);
  const findings = lint(loaded.set, presentTime(), {
    expiringWithinMs: EXPIRING_WITHIN_MS,
    usesSpent: pastState(past).usesSpent,
  });
  const listed = loaded.set.grants.map(({ grant, file, sha256 }) => {
    const use = past.uses.get(grant.id);
    return {
      grant: grant.id,
      file,
      sha256,
      tool: grant.tool,
      mode: grant.mode,
      decisions: use?.decisions ?? 0,
      last: use?.last ?? null,
      spent: use?.spent ?? 0,
      uses: grant.uses,
      findings: findings.filter((finding) => finding.grant === grant.id),
    };
  });
  const { out, json } = command;
  if (json) {
    out.raw(jsonLine(listed));
    return 0;
  }
  if (listed.length === 0) out.line("there are no grants");
  for (const { grant, file, tool, mode, decisions, last, spent, uses: most, findings: odd } of listed) {
    const used = last === null ? "never used" : `in ${decisions} decisions, last ${formatOwnerTime(last)}`;
    const left = most === null ? "" : `, ${spent} of ${most} uses spent`;
    out.line(`${quoteText(grant)}  ${tool}, ${mode}, ${quoteText(file)}: ${used}${left}`, MARKS);
    for (const finding of odd) out.line(`    line ${finding.line}: ${phraseOddity(finding)}`, { first: "", rest: "      " });
  }
  return 0;
}
