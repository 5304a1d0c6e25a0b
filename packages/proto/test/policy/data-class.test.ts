/** Labels only rise. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DATA_CLASSES, isAbove, joinClass, joinLabel, type Label } from "../../src/index.ts";

const LABELS: readonly Label[] = DATA_CLASSES.flatMap((taint) => [false, true].map((untrusted) => ({ taint, untrusted })));

function isAtOrAbove(a: Label, b: Label): boolean {
  return !isAbove(b.taint, a.taint) && (a.untrusted || !b.untrusted);
}

test("public is below private is below secret", () => {
  const above = DATA_CLASSES.flatMap((a) => DATA_CLASSES.filter((b) => isAbove(a, b)).map((b) => `${a} above ${b}`));
  assert.deepEqual(above, ["private above public", "secret above public", "secret above private"]);
});

test("joinLabel() is the least label at or above both: over all labels", () => {
  for (const a of LABELS) {
    assert.deepEqual(joinLabel(a, a), a);
    for (const b of LABELS) {
      const joined = joinLabel(a, b);
      assert.ok(Object.isFrozen(joined));
      assert.deepEqual(joined, joinLabel(b, a));
      assert.equal(joined.taint, joinClass(a.taint, b.taint));
      const upper = LABELS.filter((label) => isAtOrAbove(label, a) && isAtOrAbove(label, b));
      assert.ok(upper.some((label) => label.taint === joined.taint && label.untrusted === joined.untrusted));
      assert.ok(upper.every((label) => isAtOrAbove(label, joined)));
      for (const c of LABELS) assert.deepEqual(joinLabel(joined, c), joinLabel(a, joinLabel(b, c)));
    }
  }
});
