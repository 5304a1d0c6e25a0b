/** The rule of decisions by itself, where the calls of the other tests come by it only together with what finds the grants. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { milder, stricter } from "../../src/rules/effect.ts";
import type { Grant } from "../../src/rules/grant.ts";
import { type Circumstances, denialOf, type OtherwiseRule, outcomeOf } from "../../src/rules/outcome.ts";
import { EARLIER, type GrantFields, grant } from "./support.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const CLEAN: Circumstances = {
  label: { taint: "public", untrusted: false },
  ceiling: "secret",
  now: NOW,
  usesSpent: () => 0,
};
const ASKS: OtherwiseRule = { effect: "ask", maxTaint: "private", ifUntrusted: "ask" };

function grantsOf(...all: readonly GrantFields[]): readonly Grant[] {
  return all.map((fields) => grant(fields).grant);
}

test("of two effects one is the stricter and the other the milder, and of equals either", () => {
  const order = ["auto", "ask", "deny"] as const;
  for (const [i, a] of order.entries()) {
    for (const [j, b] of order.entries()) {
      assert.equal(stricter(a, b), order[Math.max(i, j)]);
      assert.equal(milder(a, b), order[Math.min(i, j)]);
    }
  }
});

describe("what no grant permits", () => {
  test("is denied where nothing is said of its tool", () => {
    assert.equal(outcomeOf([], undefined, CLEAN), "deny");
    assert.equal(outcomeOf(grantsOf({ expires: EARLIER }), undefined, CLEAN), "deny");
  });

  test("gets what is said of its tool", () => {
    assert.equal(outcomeOf([], ASKS, CLEAN), "ask");
    assert.equal(outcomeOf(grantsOf({ expires: EARLIER }), ASKS, CLEAN), "ask");
  });

  test("is denied where one of its grants switches that off, though another doesn't", () => {
    const strict = { expires: EARLIER, if_untrusted: "deny" };
    assert.equal(outcomeOf(grantsOf(strict), ASKS, CLEAN), "deny");
    assert.equal(outcomeOf(grantsOf({ id: "b", expires: EARLIER }, strict), ASKS, CLEAN), "deny");
  });

  test("is denied by a deny whatever is said of its tool", () => {
    assert.equal(outcomeOf(grantsOf({ mode: "deny" }), ASKS, CLEAN), "deny");
    assert.equal(denialOf(grantsOf({ mode: "deny" }), ASKS, CLEAN, "public"), "denied_by_grant");
  });
});

describe("the reason of a denial", () => {
  const low: Circumstances = { ...CLEAN, ceiling: "public" };

  test("is the audience only where something speaks about the call", () => {
    assert.equal(denialOf([], undefined, low, "secret"), "no_grant");
    assert.equal(denialOf(grantsOf({}), undefined, low, "secret"), "audience");
    assert.equal(denialOf([], ASKS, low, "secret"), "audience");
    assert.equal(denialOf(grantsOf({}), undefined, low, "public"), undefined);
  });

  test("is the state, the uses or the time, whichever comes first in this order", () => {
    const used: Circumstances = { ...CLEAN, usesSpent: () => 1 };
    const secret: Circumstances = { ...used, label: { taint: "secret", untrusted: false } };
    const all = grantsOf({ uses: 1, expires: EARLIER, max_taint: "private" });
    assert.equal(denialOf(all, undefined, secret, "public"), "taint");
    assert.equal(denialOf(all, undefined, used, "public"), "uses_spent");
    assert.equal(denialOf(all, undefined, CLEAN, "public"), "expired");
    assert.equal(denialOf([], ASKS, secret, "public"), "taint");
    const untrusted: Circumstances = { ...CLEAN, label: { taint: "public", untrusted: true } };
    assert.equal(denialOf(grantsOf({ if_untrusted: "deny" }), undefined, untrusted, "public"), "untrusted");
  });
});
