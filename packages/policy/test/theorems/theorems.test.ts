/** T1 to T5, and decide against the text, over random situations. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decide, redecide } from "../../src/rules/decide.ts";
import { findFault } from "./checks.ts";
import { anyScenario, EDGES, type Scenario } from "./scenario.ts";

describe("over random situations,", () => {
  test("decide() does what the text says, and T1 to T5 hold", () => {
    fc.assert(
      fc.property(anyScenario, (scenario) => {
        assert.equal(findFault({ decide, redecide }, scenario), undefined);
      }),
      { numRuns: 1200, examples: EDGES.map((scenario): [Scenario] => [scenario]) },
    );
  });
});
