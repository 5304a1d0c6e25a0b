/** One call judged without a seal: what an analysis asks of the rules, a thousand times over. */
import {
  type DataClass,
  type Label,
  millisFromTimestamp,
  type Origin,
  type SessionId,
  type Timestamp,
  type ToolCall,
} from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { type Judgement, judge, type PolicyState } from "../rules/judge.ts";
import { ANY_BOX } from "./circumstances.ts";

/** A call with everything that its decision depends on. */
export interface Situation {
  readonly call: ToolCall;
  readonly session: SessionId;
  readonly set: ValidGrantSet;
  readonly state: PolicyState;
  readonly now: Timestamp;
}

/** What becomes of the call. Pure, and nothing can be run with it. */
export function judgeSituation({ call, session, set, state, now }: Situation): Judgement {
  return judge(call, session, set, state, millisFromTimestamp(now), ANY_BOX);
}

/** `auto`, `ask` or `deny`, whatever the reason. */
export function effectOfJudgement(judgement: Judgement): Effect {
  return judgement.kind === "denied" ? "deny" : judgement.mode;
}

const OUTCOMES = { auto: "allowed", ask: "ask", deny: "denied" } as const;

/** The outcome in the words of the audit log. */
export type Outcome = (typeof OUTCOMES)[Effect];

export function outcomeOfEffect(effect: Effect): Outcome {
  return OUTCOMES[effect];
}

/** The situation with another part in the place of its own. */
export interface Instead {
  readonly label?: Label;
  readonly origin?: Origin;
  readonly ceiling?: DataClass;
  readonly usesSpent?: PolicyState["usesSpent"];
  readonly set?: ValidGrantSet;
}

export function judgeInstead(situation: Situation, { set = situation.set, ...state }: Instead): Judgement {
  return judgeSituation({ ...situation, set, state: { ...situation.state, ...state } });
}
