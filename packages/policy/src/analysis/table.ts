/** The model's powers in one state: what each tool gets at each target that the grants name. */
import { isDeepStrictEqual } from "node:util";
import type { DenialReason, Label, SessionId, Timestamp, ToolName } from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { PolicyState } from "../rules/judge.ts";
import { samplesOf } from "./call-classes.ts";
import { unnamedSession } from "./circumstances.ts";
import { effectOfJudgement, judgeSituation } from "./judged.ts";

/** What becomes of the calls of a tool at one target: `/srv/notes`, `/srv/notes/…` (below it), `*.example.com`, `no cwd`. */
export interface Power {
  readonly tool: ToolName;
  readonly target: string;
  readonly outcome: Effect;
  readonly reason: DenialReason | null;
  /** The grant that a record would name. */
  readonly grant: string | null;
  /** The label of the results. */
  readonly label: Label | null;
}

export interface TableSituation {
  /** Null: a session that no grant names. */
  readonly session: SessionId | null;
  readonly state: PolicyState;
  readonly now: Timestamp;
}

/**
 * Every target that the set tells apart, by tool, with what a call there gets. Targets that no grant speaks about and that get nothing
 * are left out.
 */
export function powersOf(set: ValidGrantSet, { session, state, now }: TableSituation): readonly Power[] {
  const who = session ?? unnamedSession(set.grants.map(({ grant }) => grant));
  const said = new Map<string, Power>();
  return samplesOf(set).flatMap(({ call, target, broader }) => {
    const judgement = judgeSituation({ call, session: who, set, state, now });
    const { named, label } = judgement.findings;
    const outcome = effectOfJudgement(judgement);
    if (outcome === "deny" && named === undefined) return [];
    const reason = judgement.kind === "denied" ? judgement.reason : null;
    const power = { tool: call.tool, target, outcome, reason, grant: named?.grant ?? null, label };
    const same = said.get(`${call.tool} ${broader}`);
    if (same !== undefined && isDeepStrictEqual({ ...same, target }, power)) return [];
    said.set(`${call.tool} ${target}`, power);
    return [power];
  });
}
