/** What the owner does that changes what calls come to, each on record before it is answered. */
import type { GrantSet, PolicyState } from "@boxmaker/policy";
import {
  type AbsPath,
  type AdminRequest,
  type GrantProblem,
  type Hash32,
  holdsPath,
  isProperParent,
  joinLabel,
  type Label,
  millisFromTimestamp,
  type PathLabel,
  type SessionId,
  type Timestamp,
  timestampFromMillis,
} from "@boxmaker/proto";
import type { Recorder } from "./recorder.ts";
import type { RunningBoxes } from "./running-boxes.ts";
import { sessionGrantText } from "./session-grant-text.ts";
import type { HeldGrant, SessionGrants } from "./session-grants.ts";
import { type SessionState, stateAt } from "./session-states.ts";

export interface OwnerActsOptions {
  readonly recorder: Recorder;
  readonly running: RunningBoxes;
  /** Whether a box that has answered, and so counts as ended, may write there for a moment more. */
  readonly mayStillWrite: (path: AbsPath) => boolean;
  readonly sessionGrants: SessionGrants;
  /** The owner's grants, kept and recorded; undefined where that failed. */
  readonly currentGrants: () => Promise<GrantSet | undefined>;
  /** The same without recording them. */
  readonly grants: () => Promise<GrantSet>;
  readonly now: () => Timestamp;
  readonly newSession: () => Promise<{ readonly state: Label; readonly ceiling: PolicyState["ceiling"] }>;
  readonly keepGrant: (sha256: Hash32, text: string) => Promise<void>;
}

type Body<K extends AdminRequest["kind"]> = Extract<AdminRequest, { kind: K }>["body"];

/** The longest that a grant of `allow` is in force, in milliseconds. */
export const SESSION_GRANT_MS = 3_600_000;
/** Grants that one session may have at the same time. */
const MAX_SESSION_GRANTS = 16;

/** `left`: who asked for it has left meanwhile, and there is no grant. */
export type Allowing =
  | { readonly kind: "given"; readonly held: HeldGrant; readonly expires: Timestamp }
  | { readonly kind: "invalid"; readonly problems: readonly GrantProblem[] }
  | { readonly kind: "too_many" | "left" | "unrecorded" };

export type Rewinding = { readonly kind: "opened"; readonly state: SessionState } | { readonly kind: "exists" | "unrecorded" };

/** What boxes left on a path, its parents, and below it; `owner` is what the owner's own labels say about it. */
export interface LabelsAround {
  readonly owner: Label | null;
  readonly at: Label | null;
  readonly above: readonly PathLabel[];
  readonly below: readonly PathLabel[];
}

const BOTTOM: Label = { taint: "public", untrusted: false };

export class OwnerActs {
  readonly #options: OwnerActsOptions;

  constructor(options: OwnerActsOptions) {
    this.#options = options;
  }

  /**
   * Gives a session a grant until it is ended, its uses are spent, or {@link SESSION_GRANT_MS} have passed.
   *
   * @param gone aborts when whoever asked has left, which ends it
   */
  async allow({ session, tool, scope, uses }: Body<"allow">, gone: AbortSignal): Promise<Allowing> {
    const { recorder, sessionGrants, currentGrants, now, keepGrant } = this.#options;
    const grants = await currentGrants();
    if (grants === undefined || recorder.stopped) return { kind: "unrecorded" };
    if (grants.kind === "invalid") return grants;
    const id = sessionGrants.nextId(grants);
    const expires = timestampFromMillis(millisFromTimestamp(now()) + SESSION_GRANT_MS);
    const text = sessionGrantText({ id, session, tool, scope, uses, expires });
    const checked = sessionGrants.check(grants, `session grant ${id}`, text);
    if (checked.kind === "invalid") return checked;
    const { loaded } = checked;
    try {
      await keepGrant(loaded.sha256, text);
      // From here to the append nothing is awaited: who has left has no grant, who leaves from here on ends it.
      if (gone.aborted) return { kind: "left" };
      if (sessionGrants.of(session).length >= MAX_SESSION_GRANTS) return { kind: "too_many" };
      const { durable } = recorder.append({ kind: "session_grant", session, grant: id, sha256: loaded.sha256 });
      const held = sessionGrants.hold(session, loaded);
      gone.addEventListener("abort", () => held.end("closed"), { once: true });
      await durable;
      return { kind: "given", held, expires };
    } catch (error) {
      // Fails closed: a ledger that has stopped denies every call.
      recorder.stop(error);
      return { kind: "unrecorded" };
    }
  }

  /** The grants that a session has of its own. */
  grantsOf(session: SessionId): readonly { readonly grant: string; readonly text: string }[] {
    return this.#options.sessionGrants.of(session).map(({ grant, text }) => ({ grant: grant.id, text }));
  }

  /**
   * Opens a session with the state that another one had after a call of it.
   *
   * @param onOpened called in the step that records it: what waits in the other one is to be taken there
   */
  async openRewound({ session, turn, call, to }: Body<"open_rewound">, onOpened: () => void): Promise<Rewinding> {
    const { recorder, newSession } = this.#options;
    const { states } = recorder;
    const fresh = await newSession();
    if (recorder.stopped) return { kind: "unrecorded" };
    if (states.session(to) !== undefined || to === session) return { kind: "exists" };
    const parent = states.session(session);
    // A session without a call on record: its copy begins as it would have begun itself.
    const { origin, ceiling } = parent ?? { origin: "terminal" as const, ceiling: fresh.ceiling };
    const state = parent === undefined ? fresh.state : stateAt(parent, call);
    try {
      const { durable } = recorder.append({
        kind: "session_opened",
        session: to,
        origin,
        ceiling,
        state,
        from: { session, turn, call },
      });
      onOpened();
      await durable;
    } catch (error) {
      recorder.stop(error);
      return { kind: "unrecorded" };
    }
    const opened = states.session(to);
    return opened === undefined ? { kind: "unrecorded" } : { kind: "opened", state: opened };
  }

  /** What is on record about a path, and what the owner's own labels say. */
  async labelsAround(path: AbsPath): Promise<LabelsAround> {
    const { recorder, grants } = this.#options;
    const owner = ownerLabel(await grants(), path);
    const labels = recorder.states.pathLabels;
    return {
      owner,
      at: labels.find((entry) => entry.path === path)?.label ?? null,
      above: labels.filter((entry) => isProperParent(entry.path, path)),
      below: labels.filter((entry) => isProperParent(path, entry.path)),
    };
  }

  /**
   * Takes back what boxes left on a path and on everything below it. Refused while a box may write there: what it writes would have no
   * label.
   */
  async resetLabel(path: AbsPath): Promise<"reset" | "busy" | "unrecorded"> {
    const { recorder, running, mayStillWrite, currentGrants } = this.#options;
    const grants = await currentGrants();
    if (grants === undefined || recorder.stopped) return "unrecorded";
    if (running.mayWrite(path) || mayStillWrite(path)) return "busy";
    const stored = recorder.states.pathLabels.filter((entry) => holdsPath(path, entry.path));
    const before = stored.reduce((label, entry) => joinLabel(label, entry.label), BOTTOM);
    const after = ownerLabel(grants, path) ?? BOTTOM;
    return (await recorder.durable({ kind: "label_reset", path, before, after })) ? "reset" : "unrecorded";
  }
}

/** What the owner's own labels say about a path; null where they say nothing. */
function ownerLabel(grants: GrantSet, path: AbsPath): Label | null {
  const labels = grants.kind === "valid" ? (grants.labels ?? []) : [];
  const holding = labels.filter((entry) => holdsPath(entry.path, path));
  return holding.reduce<Label | null>((label, entry) => joinLabel(label ?? entry.label, entry.label), null);
}
