/** T1 to T3 for the owner's own grants: each is about one call in two states, or in one. */
import { DATA_CLASSES, type DataClass, isAbove, type Label, type Timestamp } from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import type { Grant } from "../rules/grant.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { Judgement } from "../rules/judge.ts";
import type { CallClass } from "./call-classes.ts";
import { type Checked, type Counterexample, checkAll } from "./checked.ts";
import { isAtLeast, LABELS, stateAt } from "./circumstances.ts";
import { SINKS } from "./flows.ts";
import { effectOfJudgement, judgeSituation } from "./judged.ts";
import { type Supplies, suppliesOf } from "./supplies.ts";

const ORDER: readonly Effect[] = ["auto", "ask", "deny"];

const isMoreLenient = (a: Effect, b: Effect): boolean => ORDER.indexOf(a) < ORDER.indexOf(b);

/** One call in every state, however the uses stand. */
interface Column {
  readonly at: CallClass;
  readonly supplies: Supplies;
  readonly cells: readonly { readonly label: Label; readonly judgement: Judgement }[];
}

function judgeCell(set: ValidGrantSet, { call, vantage }: CallClass, label: Label, { spent, now }: Supplies): Judgement {
  const state = stateAt(label, vantage.origin, (id) => spent.get(id) ?? 0);
  return judgeSituation({ call, session: vantage.session, set, state, now });
}

function grantsOf({ matches }: CallClass): readonly Grant[] {
  return matches.map(({ grant }) => grant);
}

/** All calls in all states: what T1 to T3 are about. */
export function columnsOf(set: ValidGrantSet, classes: readonly CallClass[], now: Timestamp): readonly Column[] {
  return classes.flatMap((at) =>
    suppliesOf(grantsOf(at), now).map((supplies) => ({
      at,
      supplies,
      cells: LABELS.map((label) => ({ label, judgement: judgeCell(set, at, label, supplies) })),
    })),
  );
}

function findRise({ at, cells }: Column): Counterexample | undefined {
  for (const low of cells) {
    for (const high of cells) {
      if (!isAtLeast(high.label, low.label)) continue;
      const [below, above] = [effectOfJudgement(low.judgement), effectOfJudgement(high.judgement)];
      // By a lower label it would pass for audiences for which the lower state's call doesn't.
      if (above !== "deny" && below !== "deny" && isAbove(classOf(low.judgement), classOf(high.judgement))) {
        return {
          problem: `its results are ${classOf(low.judgement)} while ${phrase(low.label)}, but lower here`,
          at,
          label: high.label,
        };
      }
      if (isMoreLenient(above, below)) {
        return { problem: `${below} while ${phrase(low.label)}, but ${above} here`, at, label: high.label };
      }
    }
  }
  return undefined;
}

function classOf({ findings }: Judgement): DataClass {
  return findings.label?.taint ?? "public";
}

function phrase({ taint, untrusted }: Label): string {
  return untrusted ? `${taint} and untrusted` : taint;
}

/** A restriction, and the set as it would be without it. */
interface Lifted {
  readonly id: string;
  readonly mode: Effect;
  readonly without: ValidGrantSet;
}

function liftEach(set: ValidGrantSet): ReadonlyMap<string, Lifted> {
  const restrictions = set.grants.filter(({ grant }) => grant.mode !== "auto");
  return new Map(
    restrictions.map((loaded) => {
      const { id, mode } = loaded.grant;
      return [id, { id, mode, without: { ...set, grants: set.grants.filter((other) => other !== loaded) } }];
    }),
  );
}

function findLoosening(lifted: ReadonlyMap<string, Lifted>, { at, supplies, cells }: Column): Counterexample | undefined {
  for (const { grant } of at.matches) {
    const restriction = lifted.get(grant.id);
    if (restriction === undefined) continue;
    for (const { label, judgement } of cells) {
      const before = effectOfJudgement(judgeCell(restriction.without, at, label, supplies));
      const after = effectOfJudgement(judgement);
      const isLoose = restriction.mode === "deny" ? isMoreLenient(after, before) : after === "auto" && before !== "auto";
      if (isLoose) return { problem: `the ${restriction.mode} "${restriction.id}" turns ${before} into ${after}`, at, label };
    }
  }
  return undefined;
}

/** T1: no state above another gives more, and no restriction of the set lets anything through. */
export function checkMonotone(set: ValidGrantSet, columns: readonly Column[]): Checked {
  const lifted = liftEach(set);
  return checkAll(columns, (column) => findRise(column) ?? findLoosening(lifted, column));
}

/** T2: what runs has a permission that reaches as high as the state; a sink that runs unapproved has an auto one. */
export function checkConfidentiality(set: ValidGrantSet, columns: readonly Column[]): Checked {
  return checkAll(columns, ({ at, cells }) => {
    const grants = grantsOf(at);
    const otherwise = set.otherwise?.get(at.call.tool);
    for (const { label, judgement } of cells) {
      if (judgement.kind === "denied") continue;
      const reaches = (rule: { readonly maxTaint: Label["taint"] }): boolean => !isAbove(label.taint, rule.maxTaint);
      const rules = otherwise === undefined ? grants : [...grants, otherwise];
      if (!rules.some(reaches)) return { problem: `runs above every max_taint`, at, label };
      const isUnasked = judgement.mode === "auto" && SINKS.includes(at.call.tool);
      if (isUnasked && !grants.some((grant) => grant.mode === "auto" && reaches(grant))) {
        return { problem: `runs unapproved above the max_taint of every auto grant`, at, label };
      }
    }
    return undefined;
  });
}

/** T3: an untrusted session's unapproved sink has a grant that says so, which has uses left and spends one. */
export function checkIntegrity(columns: readonly Column[]): Checked {
  return checkAll(columns, ({ at, supplies, cells }) => {
    if (!SINKS.includes(at.call.tool)) return undefined;
    for (const { label, judgement } of cells) {
      if (!label.untrusted || judgement.kind === "denied" || judgement.mode !== "auto") continue;
      const giving = grantsOf(at).filter(
        ({ id, mode, ifUntrusted, uses }) =>
          mode === "auto" && ifUntrusted === "auto" && (uses === null || (supplies.spent.get(id) ?? 0) < uses),
      );
      if (giving.length === 0) return { problem: "runs unapproved though no grant says if_untrusted = auto", at, label };
      const isPaid = giving.some(({ id, uses }) => uses === null || id === judgement.uses);
      if (!isPaid) return { problem: "runs unapproved and spends no use", at, label };
    }
    return undefined;
  });
}

/** How many states there are to look at. */
export const STATE_COUNT = DATA_CLASSES.length * 2;
