/** T1, and the rule of decisions against its oracle, over the whole of a small universe. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DATA_CLASSES } from "@boxmaker/proto";
import type { LoadedGrant } from "../../src/rules/grant.ts";
import { type Circumstances, denialOf, outcomeOf } from "../../src/rules/outcome.ts";
import { judgeBy, type OracleCall, oracle } from "./oracle.ts";
import { ask, type GrantFields, grant, outcome, read } from "./support.ts";
import { assertMonotone, kinds, MODES, NOW_MS, oracleState, rank, SPENT, STATES, setsOf, withIds } from "./universe.ts";

describe("over all sets of up to three grants that speak about a call, in all states,", () => {
  const spent = (id: string): number => (id === "x" ? 1 : 0);
  /** As two ids, so that uses are spent for one and left for the other. */
  const all = kinds({ id: "x" }).map((fields) => grant(fields).grant);
  const circumstances = STATES.map((label): Circumstances => ({ label, ceiling: "secret", now: NOW_MS, usesSpent: spent }));

  test("the rule says what the oracle says, and more taint or untrusted never makes it more lenient", () => {
    let sets = 0;
    for (const grants of setsOf(all, 3)) {
      sets++;
      const named = withIds(grants);
      const ranks = circumstances.map((state, index) => {
        const found = denialOf(grants, undefined, state, "public") ?? outcomeOf(grants, undefined, state);
        const expected = oracle(
          { tool: "read_file", path: "/srv/notes/a" },
          named,
          oracleState({ ...STATES[index], spent: SPENT }, NOW_MS),
        );
        if (found !== expected.outcome)
          assert.fail(`${found} instead of ${expected.outcome}: ${JSON.stringify({ grants, state })}`);
        return rank(found);
      });
      assertMonotone(ranks, grants);
    }
    assert.equal(sets, 1 + 73 + (73 * 74) / 2 + (73 * 74 * 75) / 6);
  });
});

describe("over all sets of up to two grants beside all that a tool can get otherwise, in all states,", () => {
  const all = kinds({ id: "x" }).map((fields) => grant(fields).grant);
  const others = (["ask", "deny"] as const).flatMap((effect) =>
    DATA_CLASSES.flatMap((maxTaint) => MODES.map((ifUntrusted) => ({ effect, maxTaint, ifUntrusted }))),
  );

  test("the rule says what the oracle says, and more taint or untrusted never makes it more lenient", () => {
    for (const grants of setsOf(all, 2)) {
      const named = withIds(grants);
      for (const otherwise of others) {
        const ranks = STATES.map((label) => {
          const found = outcomeOf(grants, otherwise, { label, ceiling: "secret", now: NOW_MS, usesSpent: () => 1 });
          const expected = judgeBy(named, oracleState({ ...label, spent: SPENT }, NOW_MS), otherwise);
          if (found !== expected) assert.fail(`${found} instead of ${expected}: ${JSON.stringify({ grants, otherwise, label })}`);
          return rank(found);
        });
        assertMonotone(ranks, { grants, otherwise });
      }
    }
  });

  test("a call that only that could let run is denied for its taint, not as one without a grant", () => {
    const otherwise = { effect: "ask", maxTaint: "public", ifUntrusted: "ask" } as const;
    const at = (taint: "public" | "private", ceiling: "public" | "secret"): Circumstances => ({
      label: { taint, untrusted: false },
      ceiling,
      now: NOW_MS,
      usesSpent: () => 0,
    });
    assert.equal(denialOf([], otherwise, at("public", "secret"), "private"), undefined);
    assert.equal(denialOf([], otherwise, at("private", "secret"), "private"), "taint");
    assert.equal(denialOf([], otherwise, at("public", "public"), "private"), "audience");
    assert.equal(denialOf([], undefined, at("public", "public"), "private"), "no_grant");
  });
});

describe("over all pairs of grants at two nested paths, in all states,", () => {
  const SHALLOW = ["/srv/notes"];
  const DEEP = ["/srv/notes/sub"];
  const load = (all: readonly GrantFields[]): readonly LoadedGrant[] => all.map((fields) => grant(fields));
  const firsts = load(kinds({ id: "a", paths: SHALLOW }));
  const seconds = load(kinds({ id: "b", paths: DEEP }));
  const call: OracleCall = { tool: "read_file", path: "/srv/notes/sub/x" };
  const request = read("/srv/notes/sub/x");

  test("decide() says what the oracle says, and names what it names", () => {
    for (const first of firsts) {
      for (const second of seconds) {
        const grants = [first, second];
        const plain = grants.map((loaded) => loaded.grant);
        for (const fields of STATES) {
          const spent = { a: 1 };
          const verdict = ask(request, grants, { ...fields, spent });
          const expected = oracle(call, plain, oracleState({ ...fields, spent }, NOW_MS));
          if (outcome(verdict) !== expected.outcome || verdict.record.grant !== expected.named) {
            assert.fail(
              `${outcome(verdict)} by ${verdict.record.grant}: expected ${JSON.stringify({ expected, first, second, fields })}`,
            );
          }
        }
      }
    }
  });
});
