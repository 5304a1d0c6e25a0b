/**
 * The two questions that brokerd asks of policy, and the only place where their answers can be made: what runs is built from a
 * {@link Decision}, and no other code can come by one.
 */
import {
  type AbsPath,
  type CallId,
  canonicalJson,
  type DecisionEvent,
  type DenialReason,
  type Hash32,
  joinLabel,
  type Label,
  millisFromTimestamp,
  parseToolCall,
  type RunPlan,
  type SessionId,
  sha256,
  type Timestamp,
  type ToolCall,
  ToolName,
  unreachable,
} from "@boxmaker/proto";
import type { Approver } from "./grant.ts";
import type { GrantSet } from "./grant-set.ts";
import { type Findings, type Judgement, judge, NOTHING_FOUND, type PolicyState } from "./judge.ts";
import { type BoxKind, pathsWritten } from "./plan-run.ts";

export type { PolicyState } from "./judge.ts";
export type { BoxKind } from "./plan-run.ts";

/** Goes up when the same input may get another answer, so that a log can be decided again by the policy that wrote it. */
export const POLICY_VERSION = 1;

/** A call as it came: `tool` and `argumentsText` are the model's own. */
export interface CallRequest {
  readonly session: SessionId;
  readonly call: CallId;
  readonly tool: string;
  readonly argumentsText: string;
}

/** Everything that gives a call its effect. */
interface Effects {
  readonly session: SessionId;
  readonly call: CallId;
  readonly request: ToolCall;
  readonly run: RunPlan;
  readonly label: Label;
  readonly before: Label;
  readonly after: Label;
  readonly grant: string;
  readonly grantFile: string;
  readonly grantSha256: Hash32;
  readonly expires: number | null;
  readonly approvers: readonly Approver[];
  readonly followsRedirects: boolean;
}

/** Known to this module alone: a constructor that isn't given it throws. */
const SEAL: unique symbol = Symbol("policy");

/** What a Decision and an Ask both say. Nothing of it can be changed. */
class Sealed {
  readonly #effects: Effects;

  constructor(seal: typeof SEAL, effects: Effects) {
    // Type stripping checks nothing at run time: this line is what keeps others out.
    if (seal !== SEAL) throw new TypeError("a decision can only be made by policy");
    this.#effects = effects;
  }

  get session(): SessionId {
    return this.#effects.session;
  }

  get call(): CallId {
    return this.#effects.call;
  }

  get request(): ToolCall {
    return this.#effects.request;
  }

  get run(): RunPlan {
    return this.#effects.run;
  }

  /** The label of the results. */
  get label(): Label {
    return this.#effects.label;
  }

  /** The session's state that the call was judged in. */
  get before(): Label {
    return this.#effects.before;
  }

  /** The session's state once the call has been let run. */
  get after(): Label {
    return this.#effects.after;
  }

  /** The id of the grant that the record names. */
  get grant(): string {
    return this.#effects.grant;
  }

  get grantFile(): string {
    return this.#effects.grantFile;
  }

  get grantSha256(): Hash32 {
    return this.#effects.grantSha256;
  }

  /** When the last grant that permits the call expires, in milliseconds since 1970; null where one never does. */
  get expires(): number | null {
    return this.#effects.expires;
  }

  /** Who may approve it, where it needs an approval. */
  get approvers(): readonly Approver[] {
    return this.#effects.approvers;
  }

  /**
   * Whether a redirect to the same host may be followed in the same call: a fetch alone, and only where no grant that names the host
   * asks anything of the URL, since nobody would judge the next one by it.
   */
  get followsRedirects(): boolean {
    return this.#effects.followsRedirects;
  }
}

class SealedDecision extends Sealed {
  readonly #mode: "auto" | "ask";

  constructor(seal: typeof SEAL, effects: Effects, mode: "auto" | "ask") {
    super(seal, effects);
    this.#mode = mode;
    Object.freeze(this);
  }

  /** By which kind of rule it runs: an `ask` has been approved. */
  get mode(): "auto" | "ask" {
    return this.#mode;
  }

  static is(value: unknown): value is SealedDecision {
    return typeof value === "object" && value !== null && #mode in value;
  }
}

class SealedAsk extends Sealed {
  readonly #digest: Hash32;

  constructor(seal: typeof SEAL, effects: Effects) {
    super(seal, effects);
    this.#digest = digestOf(effects);
    Object.freeze(this);
  }

  /** SHA-256 over everything that gives the call its effect: what is approved is this, not a number. */
  get digest(): Hash32 {
    return this.#digest;
  }

  static is(value: unknown): value is SealedAsk {
    return typeof value === "object" && value !== null && #digest in value;
  }
}

for (const sealed of [Sealed, SealedDecision, SealedAsk]) {
  Object.freeze(sealed.prototype);
  Object.freeze(sealed);
}

/** A call that may run now. Only {@link decide} and {@link redecide} make one. */
export type Decision = SealedDecision;

/** A call that may run once an approver has said so. Only {@link decide} and {@link redecide} make one. */
export type Ask = SealedAsk;

/** Whether policy made this value, and not somebody who imitates it. */
export function isDecision(value: unknown): value is Decision {
  return SealedDecision.is(value);
}

/** As {@link isDecision}, for asks. */
export function isAsk(value: unknown): value is Ask {
  return SealedAsk.is(value);
}

/** The order of the keys is that of the block which the owner is shown. */
function digestOf(effects: Effects): Hash32 {
  const { session, call, request, grant, grantFile, grantSha256, run, label, before, after } = effects;
  return sha256(
    canonicalJson({ session, call, request, grant, grant_file: grantFile, grant_sha256: grantSha256, run, label, before, after }),
  );
}

/** A call's arguments as the record has them: typed, or (unknown tool, wrong shape) only the text that came. */
export type DecidedArguments =
  | { readonly form: "typed"; readonly call: ToolCall }
  | { readonly form: "unread"; readonly text: string };

/** The record of a decision with its whole input, but for the form in which long arguments are kept. */
export type DecisionRecord = Omit<DecisionEvent, "kind" | "arguments" | "spends"> & { readonly arguments: DecidedArguments };

interface Allowed {
  readonly kind: "allowed";
  /** By which kind of rule: an `ask` runs because it has been approved. */
  readonly mode: "auto" | "ask";
  readonly decision: Decision;
  readonly record: DecisionRecord;
  /** The paths that take the session's state after the call as their label. */
  readonly writes: readonly AbsPath[];
  /** The id of the grant whose use is spent. */
  readonly uses: string | null;
}

interface Denied {
  readonly kind: "denied";
  readonly reason: DenialReason;
  readonly record: DecisionRecord;
}

export type Verdict = Allowed | { readonly kind: "ask"; readonly ask: Ask; readonly record: DecisionRecord } | Denied;

/** What an approval comes to. `changed`: the call would now have another effect, that of `ask`, which nobody has approved. */
export type Redecision = Allowed | Denied | { readonly kind: "changed"; readonly ask: Ask };

/**
 * Decides what becomes of a call. Pure: the answer depends on the arguments alone, not on the order or the names of grant files.
 *
 * @param now the later of the clock and the last record
 */
export function decide(request: CallRequest, grants: GrantSet, state: PolicyState, now: Timestamp, box: BoxKind): Verdict {
  const tool = ToolName.safeParse(request.tool);
  const parsed = tool.success ? parseToolCall(tool.data, request.argumentsText) : undefined;
  const decided: DecidedArguments =
    parsed?.kind === "ok" ? { form: "typed", call: parsed.value } : { form: "unread", text: request.argumentsText };
  const about: About = { session: request.session, call: request.call, tool: request.tool, arguments: decided, state, now };
  if (grants.kind === "invalid") return deny(about, "grants_invalid", NOTHING_FOUND);
  if (!tool.success) return deny(about, "no_grant", NOTHING_FOUND);
  if (decided.form === "unread") return deny(about, "invalid_arguments", NOTHING_FOUND);

  const judgement = judge(decided.call, request.session, grants, state, millisFromTimestamp(now), box);
  if (judgement.kind === "denied") return deny(about, judgement.reason, judgement.findings);
  const effects = effectsOf(about, decided.call, judgement);
  switch (judgement.mode) {
    case "auto":
      return allow(about, judgement, effects);
    case "ask":
      return {
        kind: "ask",
        ask: new SealedAsk(SEAL, effects),
        record: recordOf(about, judgement.findings, { outcome: "ask", run: judgement.run }),
      };
    default:
      return unreachable(judgement.mode);
  }
}

/**
 * Decides again, at the moment of an approval, with grants and state as they are now. Turns an ask into a call that runs; nothing
 * turns a denial into one.
 *
 * @throws {TypeError} when policy didn't make `ask`
 */
export function redecide(ask: Ask, grants: GrantSet, state: PolicyState, now: Timestamp, box: BoxKind): Redecision {
  if (!isAsk(ask)) throw new TypeError("expected an ask that policy made");
  const { session, call, request } = ask;
  const about: About = { session, call, tool: request.tool, arguments: { form: "typed", call: request }, state, now };
  if (grants.kind === "invalid") return deny(about, "grants_invalid", NOTHING_FOUND);
  const judgement = judge(request, session, grants, state, millisFromTimestamp(now), box);
  if (judgement.kind === "denied") return deny(about, judgement.reason, judgement.findings);
  const effects = effectsOf(about, request, judgement);
  const fresh = new SealedAsk(SEAL, effects);
  const mayStillAnswer = ask.approvers.every((approver) => fresh.approvers.includes(approver));
  if (fresh.digest !== ask.digest || !mayStillAnswer) return { kind: "changed", ask: fresh };
  return allow(about, judgement, effects);
}

/** What a record says about its call whatever the outcome is. */
interface About {
  readonly session: SessionId;
  readonly call: CallId;
  readonly tool: string;
  readonly arguments: DecidedArguments;
  readonly state: PolicyState;
  readonly now: Timestamp;
}

type Running = Extract<Judgement, { kind: "runs" }>;

function effectsOf(about: About, request: ToolCall, judgement: Running): Effects {
  const { named } = judgement;
  const before = joinLabel(about.state.label, about.state.label);
  return Object.freeze({
    session: about.session,
    call: about.call,
    request,
    run: judgement.run,
    label: judgement.label,
    before,
    after: joinLabel(before, judgement.label),
    grant: named.grant,
    grantFile: named.file,
    grantSha256: named.sha256,
    expires: judgement.expires,
    approvers: judgement.approvers,
    followsRedirects: judgement.followsRedirects,
  });
}

function allow(about: About, judgement: Running, effects: Effects): Allowed {
  const outcome = judgement.mode === "auto" ? "allowed" : "ask";
  return {
    kind: "allowed",
    mode: judgement.mode,
    decision: new SealedDecision(SEAL, effects, judgement.mode),
    record: recordOf(about, judgement.findings, { outcome, run: judgement.run, raises: effects.after }),
    writes: pathsWritten(effects.request, effects.run),
    uses: judgement.uses,
  };
}

function deny(about: About, reason: DenialReason, findings: Findings): Denied {
  return { kind: "denied", reason, record: recordOf(about, findings, { outcome: "denied", reason }) };
}

function recordOf(
  about: About,
  findings: Findings,
  come: Pick<DecisionRecord, "outcome"> & Partial<Pick<DecisionRecord, "reason" | "raises" | "run">>,
): DecisionRecord {
  const { session, call, tool, now, state } = about;
  return {
    session,
    call,
    tool,
    arguments: about.arguments,
    now,
    policy_version: POLICY_VERSION,
    before: state.label,
    path_labels: findings.pathLabels,
    uses_left: findings.usesLeft,
    matched: findings.matched,
    outcome: come.outcome,
    reason: come.reason ?? null,
    grant: findings.named?.grant ?? null,
    grant_sha256: findings.named?.sha256 ?? null,
    label: findings.label,
    raises: come.raises ?? null,
    run: come.run ?? null,
  };
}
