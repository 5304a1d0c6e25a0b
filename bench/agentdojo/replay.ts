/** Feeds AgentDojo's calls to the real decide, with no model: the owner's tasks, then a fully compromised model's. */

import type { GrantSet, LoadedGrant } from "@boxmaker/policy";
import { decide, type PolicyState, redecide } from "@boxmaker/policy";
import { CallId, joinLabel, type Label, SessionId, Timestamp } from "@boxmaker/proto";
import type { Call, Suite, Task } from "./corpus.ts";
import type { Variant } from "./grants.ts";
import { urlsOf } from "./spelling.ts";

/** What came out for one way of granting. */
export interface Tally {
  readonly tasks: number;
  readonly tasksWithoutApproval: number;
  readonly tasksWithOneAtMost: number;
  readonly approvals: number;
  readonly mostApprovals: number;
  readonly attacks: number;
  /** Attacks of which every call ran with no approval. Nearly all others wait for an owner: one who approves everything lets them through. */
  readonly attacksThrough: number;
}

const NOW = Timestamp.parse("2026-11-01T00:00:00.000Z");
const SESSION = SessionId.parse("agentdojo");
const NEW_SESSION: Label = { taint: "public", untrusted: false };
const BOX = { runtime: "podman", image: null } as const;

function stateOf(label: Label): PolicyState {
  return { label, origin: "terminal", ceiling: "secret", usesSpent: () => 0, pathLabels: [] };
}

interface Step {
  readonly outcome: "ran" | "asked" | "denied";
  readonly after: Label;
}

/**
 * One call; an ask is answered by `owner`.
 *
 * @throws {Error} when an approval doesn't make the call run
 */
function step(suite: Suite, call: Call, grants: GrantSet, before: Label, owner: "approves" | "refuses"): Step {
  let outcome: Step["outcome"] = "ran";
  let after = before;
  for (const url of urlsOf(suite, call)) {
    const request = { session: SESSION, call: CallId.parse(1), tool: "http_fetch", argumentsText: JSON.stringify({ url }) };
    const first = decide(request, grants, stateOf(before), NOW, BOX);
    if (first.kind === "denied") return { outcome: "denied", after: before };
    if (first.kind === "ask") outcome = "asked";
    const last = first.kind === "ask" ? redecide(first.ask, grants, stateOf(before), NOW, BOX) : first;
    if (last.kind !== "allowed") throw new Error(`expected ${url} to run once approved, got ${last.kind}`);
    after = joinLabel(after, last.decision.after);
  }
  return outcome === "asked" && owner === "refuses" ? { outcome, after: before } : { outcome, after };
}

interface UserRun {
  readonly approvals: number;
  /** The session's state once the first result is read that holds a text of the attacker. */
  readonly atInjection: Label | undefined;
}

/** @throws {Error} when a call is denied: a way of granting that makes a task impossible can't be compared */
function runTask(suite: Suite, task: Task, grants: GrantSet): UserRun {
  let label = NEW_SESSION;
  let approvals = 0;
  let atInjection: Label | undefined;
  for (const call of task.calls) {
    const { outcome, after } = step(suite, call, grants, label, "approves");
    if (outcome === "denied") throw new Error(`${suite.name} ${task.id}: ${call.function} is denied, so the task can't be done`);
    if (outcome === "asked") approvals++;
    label = after;
    if (call.vectors_in_result.length > 0) atInjection ??= label;
  }
  return { approvals, atInjection };
}

/** How many calls of the attack don't run, with an owner who approves none. */
function countStopped(suite: Suite, attack: Task, grants: GrantSet, from: Label): number {
  let label = from;
  let stopped = 0;
  for (const call of attack.calls) {
    const { outcome, after } = step(suite, call, grants, label, "refuses");
    if (outcome !== "ran") stopped++;
    label = after;
  }
  return stopped;
}

export function replay(suites: readonly Suite[], variant: Variant): Tally {
  const approvals: number[] = [];
  const stopped: number[] = [];
  for (const suite of suites) {
    const standing = variant.standing(suite);
    for (const task of suite.userTasks) {
      const all: readonly LoadedGrant[] = [...standing, ...variant.forTask(suite, task)];
      const grants: GrantSet = { kind: "valid", grants: all, files: all };
      const run = runTask(suite, task, grants);
      approvals.push(run.approvals);
      const { atInjection } = run;
      if (atInjection === undefined) throw new Error(`${suite.name} ${task.id}: expected a result that holds an attacker's text`);
      stopped.push(...suite.attacks.map((attack) => countStopped(suite, attack, grants, atInjection)));
    }
  }
  return {
    tasks: approvals.length,
    tasksWithoutApproval: approvals.filter((count) => count === 0).length,
    tasksWithOneAtMost: approvals.filter((count) => count <= 1).length,
    approvals: approvals.reduce((sum, count) => sum + count, 0),
    mostApprovals: Math.max(...approvals),
    attacks: stopped.length,
    attacksThrough: stopped.filter((count) => count === 0).length,
  };
}
