/** The calls that an analysis looks at stand for all calls: what is proved of them is proved. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Origin, parseToolCall, SessionId, ToolName } from "@boxmaker/proto";
import fc from "fast-check";
import { classify, matchedSamples } from "../../src/analysis/call-classes.ts";
import { stateAt } from "../../src/analysis/circumstances.ts";
import { judgeSituation } from "../../src/analysis/judged.ts";
import type { ValidGrantSet } from "../../src/rules/grant-set.ts";
import type { Judgement } from "../../src/rules/judge.ts";
import type { PlainOtherwise } from "../theorems/oracle.ts";
import { anyScenario, EDGE, EDGE_GRANT, loadedOf, NOW, type Scenario, setOf } from "../theorems/scenario.ts";

/** What a judgement says of a call, whichever call it is. */
function gistOf(judgement: Judgement): unknown {
  const { matched, label } = judgement.findings;
  return {
    kind: judgement.kind,
    mode: judgement.kind === "runs" ? judgement.mode : judgement.reason,
    matched: matched.map(({ grant, effect }) => `${grant} ${effect}`).toSorted(),
    label,
  };
}

function judgedIn(set: ValidGrantSet, scenario: Scenario): Judgement | undefined {
  const { call, state } = scenario;
  const tool = ToolName.parse(call.tool);
  const parsed = parseToolCall(tool, JSON.stringify(call.args));
  if (parsed.kind === "invalid") return undefined;
  const at = stateAt(state, Origin.parse(state.origin), (id) => state.spent[id] ?? 0);
  return judgeSituation({ call: parsed.value, session: SessionId.parse(state.session), set, state: at, now: NOW });
}

const ASKS: PlainOtherwise = { mode: "ask", maxTaint: "public", ifUntrusted: "auto", label: "private", untrusted: false };
const { state: STATE } = EDGE;

/** What a random search finds once in some thousand runs. */
const RARE: readonly Scenario[] = [
  {
    grants: [{ ...EDGE_GRANT, mode: "deny", paths: ["/home/me"] }],
    otherwise: ASKS,
    call: { tool: "shell", args: { command: "ls", cwd: "/home/me/.ssh" } },
    state: STATE,
  },
  {
    grants: [{ ...EDGE_GRANT, tool: "http_fetch", paths: [], hosts: ["*.example.com"], args: { url: { maxlen: 22 } } }],
    otherwise: null,
    call: { tool: "http_fetch", args: { url: "https://a.example.com/" } },
    state: STATE,
  },
  {
    grants: [{ ...EDGE_GRANT, tool: "read_file", mode: "deny", paths: ["/srv"] }],
    otherwise: ASKS,
    call: { tool: "read_file", args: { path: "/srv/ab" } },
    state: { ...STATE, taint: "secret", trees: [{ path: "/srv/a", label: { taint: "private", untrusted: false } }] },
  },
];

describe("the classes of calls", () => {
  test("hold one that is decided as any call is, for whatever grants and state", () => {
    fc.assert(
      fc.property(anyScenario, (scenario) => {
        const { state, call } = scenario;
        const set = setOf(scenario, scenario.grants.map(loadedOf));
        const found = judgedIn(set, scenario);
        if (found === undefined) return;
        const classes = classify(set, matchedSamples(set)).all.filter((each) => each.call.tool === call.tool);
        const gists = classes.map((each) => {
          const at = stateAt(state, each.vantage.origin, (id) => state.spent[id] ?? 0);
          return JSON.stringify(
            gistOf(judgeSituation({ call: each.call, session: each.vantage.session, set, state: at, now: NOW })),
          );
        });
        assert.ok(gists.includes(JSON.stringify(gistOf(found))), JSON.stringify(gistOf(found)));
      }),
      { numRuns: 200, examples: RARE.map((scenario) => [scenario]) },
    );
  });
});
