/**
 * What a decision costs, and how that compares with Cedar on the same rules and calls. OPA isn't here: a policy in wasm comes only out
 * of its own compiler, a program that no package of ours brings along, and a compiled policy in the tree would be a binary nobody can read.
 */

import { decide, type GrantSet } from "@boxmaker/policy";
import { verify } from "@boxmaker/policy/analysis";
import { type AuthorizationAnswer, preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import type { Figure } from "./figure/figure.ts";
import { compareInterleaved, median } from "./figure/sample.ts";
import { type BenchCall, BOX, callsFor, cedarPolicies, grantsOf, NOW, rulesOf } from "./policy/rules.ts";

const ROUNDS = 15;
const WARMING_UP = 5;
const CALLS = 400;
const COUNTS = [10, 100, 10_000] as const;
const COMPARED = 100;
const VERIFICATIONS = 5;

function decideAll(calls: readonly BenchCall[], grants: GrantSet): void {
  for (const { request, state } of calls) decide(request, grants, state, NOW, BOX);
}

/** In turn, so that none of them pays for all the others' warming up. */
function measure(): readonly Figure[] {
  const sizes = COUNTS.map((count) => {
    const rules = rulesOf(count);
    const times: number[] = [];
    return { count, grants: grantsOf(rules), calls: callsFor(rules, CALLS), times };
  });
  for (let round = -WARMING_UP; round < ROUNDS; round++) {
    for (const { grants, calls, times } of sizes) {
      const started = performance.now();
      decideAll(calls, grants);
      if (round >= 0) times.push(performance.now() - started);
    }
  }
  return sizes.map(({ count, times }) => ({
    name: `decide_${count}`,
    value: (median(times) * 1000) / CALLS,
    unit: "µs a decision",
    against: null,
  }));
}

function askCedar({ cedar }: BenchCall): AuthorizationAnswer {
  return statefulIsAuthorized({ ...cedar, preparsedPolicySetId: "bench", entities: [] });
}

/** @throws {Error} when the two disagree about a call: then they weren't given the same rules */
function checkAgreement(calls: readonly BenchCall[], grants: GrantSet): void {
  for (const call of calls) {
    const ours = decide(call.request, grants, call.state, NOW, BOX).kind === "allowed" ? "allow" : "deny";
    const answer = askCedar(call);
    const theirs = answer.type === "success" ? answer.response.decision : answer.errors.map(({ message }) => message).join("; ");
    if (ours !== theirs) throw new Error(`${call.request.argumentsText}: expected Cedar to say ${ours}, got ${theirs}`);
  }
}

function compareWithCedar(): Figure {
  const rules = rulesOf(COMPARED);
  const grants = grantsOf(rules);
  const calls = callsFor(rules, CALLS);
  const parsed = preparsePolicySet("bench", { staticPolicies: cedarPolicies(rules) });
  if (parsed.type === "failure") throw new Error(parsed.errors.map(({ message }) => message).join("; "));
  checkAgreement(calls, grants);
  return {
    name: `vs_cedar_${COMPARED}`,
    value: compareInterleaved(
      () => decideAll(calls, grants),
      () => {
        for (const call of calls) askCedar(call);
      },
      ROUNDS,
    ),
    unit: "ratio",
    against: `Cedar in wasm with its policies parsed beforehand, which plans and records nothing, medians of ${ROUNDS} interleaved runs`,
  };
}

/** What `bxctl grants verify` computes, without starting a process or reading files. */
function measureVerify(): Figure {
  const grants = grantsOf(rulesOf(COMPARED));
  if (grants.kind === "invalid") throw new Error("expected valid grants");
  const times = Array.from({ length: VERIFICATIONS }, () => {
    const started = performance.now();
    verify(grants, NOW);
    return performance.now() - started;
  });
  return { name: `verify_${COMPARED}_grants`, value: median(times) / 1000, unit: "s", against: null };
}

export function run(): Promise<readonly Figure[]> {
  return Promise.resolve([...measure(), compareWithCedar(), measureVerify()]);
}
