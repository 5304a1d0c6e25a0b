/** Which states a session can come to under a set of grants, and by which calls: breadth first, so that the way to each is a shortest one. */
import { joinLabel, type Label, type Timestamp, type ToolName } from "@boxmaker/proto";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { Judgement } from "../rules/judge.ts";
import type { CallClass } from "./call-classes.ts";
import { BOTTOM, stateAt, type Vantage } from "./circumstances.ts";
import { judgeSituation } from "./judged.ts";

/** One call of a way. `approved`: it runs once the owner has said so. */
export interface Step {
  readonly tool: ToolName;
  readonly target: string;
  readonly grant: string | null;
  readonly runs: "unapproved" | "approved";
  readonly before: Label;
  readonly after: Label;
}

/** A state that a session can be in, which uses have been spent on the way, and a shortest way there. */
export interface Reached {
  readonly vantage: Vantage;
  readonly label: Label;
  readonly spent: ReadonlyMap<string, number>;
  readonly trace: readonly Step[];
}

/** Ways to the same state that spend different uses are kept up to this many. */
const MAX_WAYS = 32;

export function judgeReached(
  set: ValidGrantSet,
  { call }: CallClass,
  reached: Pick<Reached, "vantage" | "label" | "spent">,
  now: Timestamp,
): Judgement {
  const { vantage, label, spent } = reached;
  const state = stateAt(label, vantage.origin, (id) => spent.get(id) ?? 0);
  return judgeSituation({ call, session: vantage.session, set, state, now });
}

/** The state after the call, where it may run. */
export function takeStep(each: CallClass, reached: Reached, judgement: Judgement): Reached | undefined {
  if (judgement.kind === "denied") return undefined;
  const after = joinLabel(reached.label, judgement.label);
  const runs = judgement.mode === "auto" ? "unapproved" : "approved";
  const step: Step = {
    tool: each.call.tool,
    target: each.target,
    grant: judgement.named.grant,
    runs,
    before: reached.label,
    after,
  };
  const { uses } = judgement;
  const spent = uses === null ? reached.spent : new Map(reached.spent).set(uses, (reached.spent.get(uses) ?? 0) + 1);
  return { vantage: reached.vantage, label: after, spent, trace: [...reached.trace, step] };
}

function spendsNoMore(a: Reached, b: Reached): boolean {
  return [...a.spent].every(([id, count]) => count <= (b.spent.get(id) ?? 0));
}

/** The ways to each state, none of which spends more than another to the same state. */
class Ways {
  readonly #byState = new Map<string, Reached[]>();
  isCut = false;

  /** Whether the way is a new one. */
  add(reached: Reached): boolean {
    const key = `${reached.label.taint} ${reached.label.untrusted}`;
    const known = this.#byState.get(key) ?? [];
    if (known.some((other) => spendsNoMore(other, reached))) return false;
    if (known.length >= MAX_WAYS) {
      this.isCut = true;
      return false;
    }
    this.#byState.set(key, [...known, reached]);
    return true;
  }

  get all(): readonly Reached[] {
    return [...this.#byState.values()].flat();
  }
}

/** All states that a new session of this vantage can come to, by calls that run unapproved or that the owner approves. */
export function walk(
  set: ValidGrantSet,
  classes: readonly CallClass[],
  vantage: Vantage,
  now: Timestamp,
): { readonly reached: readonly Reached[]; readonly isCut: boolean } {
  const start: Reached = { vantage, label: BOTTOM, spent: new Map(), trace: [] };
  const ways = new Ways();
  ways.add(start);
  let edge: readonly Reached[] = [start];
  while (edge.length > 0) {
    const next: Reached[] = [];
    for (const reached of edge) {
      for (const each of classes) {
        const after = takeStep(each, reached, judgeReached(set, each, reached, now));
        // A call that raises nothing opens no way that wasn't open before: it can only spend.
        if (after === undefined || (after.label.taint === reached.label.taint && after.label.untrusted === reached.label.untrusted))
          continue;
        if (ways.add(after)) next.push(after);
      }
    }
    edge = next;
  }
  return { reached: ways.all, isCut: ways.isCut };
}
