/** Everything that must hold of one scenario, for any implementation of decide: the oracle's word, and T1 to T5. */
import { DATA_CLASSES, type Label, sha256 } from "@boxmaker/proto";
import type * as rules from "../../src/rules/decide.ts";
import type { LoadedGrant } from "../../src/rules/grant.ts";
import { OTHERWISE_GRANT, type ValidGrantSet } from "../../src/rules/grant-set.ts";
import { decidePlainly, type PlainCall, type PlainGrant, type PlainState } from "./oracle.ts";
import { EDGE_GRANT, loadedOf, NOW, requestOf, type Scenario, setOf, stateOf } from "./scenario.ts";

/** The two questions of policy, by whichever code answers them. */
export type Policy = Pick<typeof rules, "decide" | "redecide">;

const BOX = { runtime: "podman", image: `sha256:${"a".repeat(64)}` } as const;
const STATES: readonly Label[] = DATA_CLASSES.flatMap((taint) => [false, true].map((untrusted) => ({ taint, untrusted })));
const LENIENCE = { allowed: 0, ask: 1, denied: 2 } as const;

function decideIn(policy: Policy, scenario: Scenario, grants: readonly LoadedGrant[], state: PlainState): rules.Verdict {
  return policy.decide(requestOf(scenario.call, state), setOf(scenario, grants), stateOf(state), NOW, BOX);
}

const rise = (a: Label, b: Label): boolean =>
  DATA_CLASSES.indexOf(a.taint) <= DATA_CLASSES.indexOf(b.taint) && (b.untrusted || !a.untrusted);

/** What decide says against what the text says. */
function findDisagreement(policy: Policy, scenario: Scenario): string | undefined {
  const verdict = decideIn(policy, scenario, scenario.grants.map(loadedOf), scenario.state);
  const expected = decidePlainly(scenario.call, scenario.grants, scenario.otherwise, scenario.state);
  const { record } = verdict;
  const found = verdict.kind === "allowed" ? "auto" : verdict.kind === "ask" ? "ask" : "deny";
  if (found !== expected.outcome) return `outcome ${found}, expected ${expected.outcome}`;
  if (record.reason !== expected.reason) return `reason ${record.reason}, expected ${expected.reason}`;
  // The text gives no name to what tools.toml says.
  const named = record.grant === OTHERWISE_GRANT ? null : record.grant;
  if (named !== expected.named) return `named ${named}, expected ${expected.named}`;
  for (const { grant, effect } of record.matched) {
    if (effect !== expected.effects[grant]) return `${grant} gives ${effect}, expected ${expected.effects[grant]}`;
  }
  if (record.matched.length !== Object.keys(expected.effects).length) return "another number of grants that speak about the call";
  if (record.label === null || found === "deny") return undefined;
  const isSame = record.label.taint === expected.label.taint && record.label.untrusted === expected.label.untrusted;
  if (!isSame) return `label ${JSON.stringify(record.label)}, expected ${JSON.stringify(expected.label)}`;
  return undefined;
}

function findMonotoneBreak(policy: Policy, scenario: Scenario): string | undefined {
  const grants = scenario.grants.map(loadedOf);
  const kinds = STATES.map((label) => ({
    label,
    rank: LENIENCE[decideIn(policy, scenario, grants, { ...scenario.state, ...label }).kind],
  }));
  for (const low of kinds) {
    for (const high of kinds) {
      if (rise(low.label, high.label) && high.rank < low.rank) return "T1: more lenient in a higher state";
    }
  }
  const here = decideIn(policy, scenario, grants, scenario.state);
  const renamed = grants.toReversed().map((loaded, index) => ({ ...loaded, file: `${index}.toml` }));
  const again = decideIn(policy, scenario, renamed, scenario.state);
  if (JSON.stringify(again.record) !== JSON.stringify(here.record)) return "T1: the order or the names of files matter";
  for (const [index, plain] of scenario.grants.entries()) {
    const without = grants.toSpliced(index, 1);
    const before = decideIn(policy, scenario, without, scenario.state);
    if (plain.mode === "deny" && LENIENCE[here.kind] < LENIENCE[before.kind]) return "T1: a deny made a call more lenient";
    if (plain.mode === "ask" && here.kind === "allowed" && before.kind !== "allowed") return "T1: an ask let a call run unapproved";
  }
  return undefined;
}

function matchedBy(verdict: rules.Verdict, grants: readonly PlainGrant[]): readonly PlainGrant[] {
  const ids = new Set(verdict.record.matched.map(({ grant }) => grant));
  return grants.filter(({ id }) => ids.has(id));
}

function findFlow(policy: Policy, { grants, otherwise, ...scenario }: Scenario): string | undefined {
  const loaded = grants.map(loadedOf);
  for (const label of STATES) {
    const verdict = decideIn(policy, { grants, otherwise, ...scenario }, loaded, { ...scenario.state, ...label });
    if (verdict.kind === "denied") continue;
    const matched = matchedBy(verdict, grants);
    const reaches = (rule: { maxTaint: Label["taint"] }): boolean =>
      DATA_CLASSES.indexOf(rule.maxTaint) >= DATA_CLASSES.indexOf(label.taint);
    const anything = otherwise === null ? matched : [...matched, otherwise];
    if (!anything.some(reaches)) return "T2: runs above the highest max_taint of what matches";
    if (verdict.kind !== "allowed") continue;
    if (!matched.some((grant) => grant.mode === "auto" && reaches(grant)))
      return "T2: runs unapproved without an auto grant for the taint";
    if (!label.untrusted) continue;
    const giving = matched.filter((grant) => grant.mode === "auto" && grant.ifUntrusted === "auto");
    if (giving.length === 0) return "T3: runs unapproved though the session is untrusted and no grant says auto";
    const paying = giving.find(({ id }) => id === verdict.uses);
    const alive = giving.filter((grant) => reaches(grant) && (grant.expires === null || grant.expires > scenario.state.now));
    if (alive.every(({ uses }) => uses !== null) && paying === undefined) return "T3: runs unapproved and spends no use";
  }
  return undefined;
}

const OTHER_HASH = sha256("edited");

/** The set with another text in the file that says this rule, though it means the same. */
function editFile(set: ValidGrantSet, rule: string): ValidGrantSet {
  const grants = set.grants.map((loaded) => (loaded.grant.id === rule ? { ...loaded, sha256: OTHER_HASH } : loaded));
  if (rule !== OTHERWISE_GRANT) return { ...set, grants };
  return { ...set, otherwise: new Map([...(set.otherwise ?? [])].map(([tool, each]) => [tool, { ...each, sha256: OTHER_HASH }])) };
}

/** A place that a grant can name so that it speaks about the call. */
function placeOf({ tool, args }: PlainCall): Pick<PlainGrant, "paths" | "hosts"> {
  if (tool === "http_fetch") return { paths: [], hosts: [new URL(args["url"] ?? "").hostname] };
  return { paths: [args["path"] ?? args["cwd"] ?? "/srv"], hosts: [] };
}

/** T4: an approval is of this very effect; in any other state or under any other grant it's another. */
function findLooseApproval(policy: Policy, scenario: Scenario): string | undefined {
  const grants = scenario.grants.map(loadedOf);
  const verdict = decideIn(policy, scenario, grants, scenario.state);
  if (verdict.kind !== "ask") return undefined;
  const again = policy.redecide(verdict.ask, setOf(scenario, grants), stateOf(scenario.state), NOW, BOX);
  if (again.kind !== "allowed" || again.mode !== "ask") return "T4: an approved ask doesn't run";
  if (again.decision.request !== verdict.ask.request) return "T4: another call runs than was approved";
  for (const label of STATES) {
    if (label.taint === scenario.state.taint && label.untrusted === scenario.state.untrusted) continue;
    const moved = policy.redecide(verdict.ask, setOf(scenario, grants), stateOf({ ...scenario.state, ...label }), NOW, BOX);
    if (moved.kind === "allowed") return "T4: an approval held in another state";
  }
  const edited = editFile(setOf(scenario, grants), verdict.ask.grant);
  const changed = policy.redecide(verdict.ask, edited, stateOf(scenario.state), NOW, BOX);
  if (changed.kind === "allowed") return "T4: an approval held though the grant's file changed";
  const denied = loadedOf({ ...PLAIN, tool: scenario.call.tool, ...placeOf(scenario.call), mode: "deny", id: "zz" });
  const forbidden = policy.redecide(verdict.ask, setOf(scenario, [...grants, denied]), stateOf(scenario.state), NOW, BOX);
  if (forbidden.kind === "allowed") return "T4: an approval held against a deny";
  return undefined;
}

const PLAIN: PlainGrant = { ...EDGE_GRANT, id: "plain", tool: "read_file", paths: ["/srv"] };

const within = (parent: string, path: string): boolean => path === parent || path.startsWith(`${parent}/`);

/** T5 in one step: what a call lets be written takes the state after it, and a box that could read that comes to be labelled so. */
function findLaundering(policy: Policy, scenario: Scenario): string | undefined {
  const grants = scenario.grants.map(loadedOf);
  const writer = decideIn(policy, scenario, grants, scenario.state);
  if (writer.kind !== "allowed") return undefined;
  const { after, label, before, run } = writer.decision;
  if (!rise(before, after) || !rise(label, after)) return "T5: the state after a call is below what it was or what the call brings";
  const writable = run.mounts.filter((mount) => mount.writable).map(({ path }) => path);
  const couldWrite = scenario.call.tool === "write_file" ? [scenario.call.args["path"] ?? ""] : writable;
  if (couldWrite.some((path) => !writer.writes.some((written) => within(written, path))))
    return "T5: a written path takes no label";
  if (scenario.call.tool === "read_file" && writable.length > 0) return "T5: a read may write";
  const labels = writer.writes.map((path) => ({ path, label: after }));
  for (const tool of ["read_file", "shell"] as const) {
    for (const path of couldWrite) {
      const call = tool === "shell" ? { tool, args: { command: "ls", cwd: path } } : { tool, args: { path: `${path}/x` } };
      const state: PlainState = { ...scenario.state, taint: "public", untrusted: false, ceiling: "secret", labels };
      const reader = decideIn(policy, { ...scenario, call }, grants, state);
      if (reader.kind === "denied") continue;
      if (reader.record.label === null || !rise(after, reader.record.label))
        return "T5: a later read is labelled below what could be written";
    }
  }
  return undefined;
}

/** What a box holds: nothing that no grant permits, and nothing that a deny names. */
function findLooseBox(policy: Policy, scenario: Scenario): string | undefined {
  const grants = scenario.grants.map(loadedOf);
  const verdict = decideIn(policy, scenario, grants, scenario.state);
  const run = verdict.record.run;
  if (verdict.kind === "denied" || run === null) return undefined;
  const live = new Set(verdict.record.matched.filter(({ effect }) => effect !== "deny").map(({ grant }) => grant));
  const permitting = scenario.grants.filter(({ id }) => live.has(id));
  const denied = scenario.grants.filter(({ mode }) => mode === "deny").flatMap(({ paths }) => paths);
  for (const { path: mount } of run.mounts) {
    const isNamed =
      permitting.length === 0 &&
      scenario.otherwise !== null &&
      within(mount, scenario.call.args["path"] ?? scenario.call.args["cwd"] ?? "");
    if (!isNamed && !permitting.some(({ paths }) => paths.some((at) => within(at, mount))))
      return "a box mounts what nothing permits";
    const below = denied.filter((path) => path.startsWith(`${mount}/`));
    if (below.some((path) => !run.masked.some((masked) => within(masked, path)))) return "a box shows what a deny names";
  }
  return undefined;
}

const PLAIN_CHECKS: readonly Check[] = [findDisagreement, findLooseBox, findLaundering];
const CHECKS: readonly Check[] = [...PLAIN_CHECKS, findMonotoneBreak, findFlow, findLooseApproval];

/** The first thing that doesn't hold of the scenario, in words; `undefined` where everything does. */
export function findFault(policy: Policy, scenario: Scenario): string | undefined {
  return findFirst(CHECKS, policy, scenario);
}

/** As {@link findFault}, without what decides a situation again in every state. */
export function findPlainFault(policy: Policy, scenario: Scenario): string | undefined {
  return findFirst(PLAIN_CHECKS, policy, scenario);
}

type Check = (policy: Policy, scenario: Scenario) => string | undefined;

function findFirst(checks: readonly Check[], policy: Policy, scenario: Scenario): string | undefined {
  for (const check of checks) {
    const fault = check(policy, scenario);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
