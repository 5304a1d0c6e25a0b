/** Grants that the owner has given one session for a while: kept beside the files, and part of no other session's decisions. */
import type { GrantSet, LoadedGrant } from "@boxmaker/policy";
import type { AddedGrant } from "@boxmaker/policy/grants";
import type { AuditSeq, SessionGrantEnd, SessionId } from "@boxmaker/proto";
import type { Recorder } from "./recorder.ts";

type ValidGrants = Extract<GrantSet, { kind: "valid" }>;

/** Checks the text of a grant as that of a file of the set. */
export type CheckAdded = (set: ValidGrants, file: string, text: string) => AddedGrant;

/** A grant in force. */
export interface HeldGrant {
  readonly loaded: LoadedGrant;
  /** Resolves when it has ended. */
  readonly ended: Promise<SessionGrantEnd>;
  /** Ends it: no decision from here on is taken by it. More calls do nothing. */
  readonly end: (reason: SessionGrantEnd) => void;
}

interface Entry extends HeldGrant {
  readonly session: SessionId;
}

/** The set that a session's decisions are taken by, as long as neither the files nor its own grants change. */
interface Combined {
  readonly base: ValidGrants;
  readonly set: ValidGrants;
}

export class SessionGrants {
  readonly #recorder: Recorder;
  readonly #check: CheckAdded;
  readonly #entries = new Map<string, Entry>();
  readonly #combined = new Map<SessionId, Combined>();
  readonly #onOver: () => void;
  #number = 0;
  /** The calls that have spent the last use of one and haven't been answered yet. */
  readonly #spentBy = new Set<AuditSeq>();

  /** `onOver` is called when a grant has ended, and the call that spent its last use has been answered. It must not throw. */
  constructor(recorder: Recorder, check: CheckAdded, onOver: () => void) {
    this.#recorder = recorder;
    this.#check = check;
    this.#onOver = onOver;
  }

  /** A number that no grant of `allow` ever had, and whose id no file of the set has. */
  nextId({ grants }: ValidGrants): string {
    this.#number = Math.max(this.#number, this.#recorder.states.lastSessionGrant);
    const taken = new Set(grants.map(({ grant }) => grant.id));
    do this.#number++;
    while (taken.has(`session-${this.#number}`));
    return `session-${this.#number}`;
  }

  /** The grants that the session has, oldest first. */
  of(session: SessionId): readonly LoadedGrant[] {
    return [...this.#entries.values()].filter((entry) => entry.session === session).map(({ loaded }) => loaded);
  }

  /**
   * Checks the text of a new one against the files and all that are in force, those of other sessions included: what one session's box
   * may write mustn't hold what another's mounts.
   */
  check(set: ValidGrants, file: string, text: string): AddedGrant {
    // Those that don't fit the files any more end first: nobody else is to be refused for them.
    for (const session of new Set([...this.#entries.values()].map((entry) => entry.session))) this.addTo(set, session);
    const given = [...this.#entries.values()].map(({ loaded }) => loaded);
    return this.#check({ ...set, grants: [...set.grants, ...given] }, file, text);
  }

  /** Puts a grant in force, in the step that records it. */
  hold(session: SessionId, loaded: LoadedGrant): HeldGrant {
    const { id } = loaded.grant;
    const { promise: ended, resolve } = Promise.withResolvers<SessionGrantEnd>();
    const end = (reason: SessionGrantEnd): void => {
      if (!this.#entries.delete(id)) return;
      this.#combined.delete(session);
      resolve(reason);
      if (reason !== "spent") this.#onOver();
      // It has ended all the same; a ledger that can't record that lets nothing run any more.
      if (!this.#recorder.stopped) this.#recorder.append({ kind: "session_grant_ended", grant: id, reason });
    };
    const held = { loaded, ended, end };
    this.#entries.set(id, { ...held, session });
    this.#combined.delete(session);
    return held;
  }

  /** Ends the grant whose last use the call of decision `seq` has just spent. */
  settle(spent: string | null, seq: AuditSeq): void {
    const entry = spent === null ? undefined : this.#entries.get(spent);
    if (entry === undefined || spent === null) return;
    const { uses } = entry.loaded.grant;
    if (uses === null || this.#recorder.states.usesSpent(spent) < uses) return;
    this.#spentBy.add(seq);
    entry.end("spent");
  }

  /** To be told when the call of decision `seq` has been answered. */
  callAnswered(seq: AuditSeq): void {
    if (this.#spentBy.delete(seq)) this.#onOver();
  }

  /**
   * The grants that the session's decisions are taken by. Where the files have changed so that a grant of the session doesn't fit them
   * any more, it ends.
   */
  addTo(base: GrantSet, session: SessionId): GrantSet {
    if (base.kind === "invalid") return base;
    const known = this.#combined.get(session);
    if (known?.base === base) return known.set;
    const entries = [...this.#entries.values()].filter((entry) => entry.session === session);
    if (entries.length === 0) return base;
    let set = base;
    for (const { loaded, end } of entries) {
      if (this.#check(set, loaded.file, loaded.text).kind === "valid") set = { ...set, grants: [...set.grants, loaded] };
      else end("invalid");
    }
    this.#combined.set(session, { base, set });
    return set;
  }
}
