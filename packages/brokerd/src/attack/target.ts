/** What is attacked: the runtime that the configuration names, and calls of it that policy has decided. */
import type { Clock } from "@boxmaker/edge/log";
import { type CallRequest, decide } from "@boxmaker/policy";
import { setFromTexts } from "@boxmaker/policy/grants";
import { type AbsPath, CallId, quoteText, SessionId, type ToolName, timestampFromMillis } from "@boxmaker/proto";
import { buildRunSpec, type RunSpec } from "../runner/run-spec.ts";
import type { RunnerConfig } from "../runner/runner-config.ts";
import type { RunOutcome, Runtime } from "../runner/runtime.ts";

export interface Target {
  readonly runtime: Runtime;
  readonly config: RunnerConfig;
  /** The runtime's own places, which no grant may name. */
  readonly reserved: readonly AbsPath[];
  /** Why boxes have no memory and process limits, where they have none. */
  readonly limitsProblem: string | undefined;
  readonly clock: Clock;
}

/** One grant of a call, as its file says it. */
export interface AttackGrant {
  readonly tool: ToolName;
  readonly mode: "auto" | "deny";
  readonly constraints: { readonly paths: readonly AbsPath[] } | { readonly hosts: readonly string[] };
}

export interface AttackCall {
  readonly tool: ToolName;
  readonly arguments: object;
  readonly grants: readonly AttackGrant[];
}

/** `refused`: policy let it not run at all. */
export type Aim = { readonly kind: "spec"; readonly spec: RunSpec } | { readonly kind: "refused"; readonly reason: string };

/** `overdue`: it was still running well after it should have been ended. */
export type Shot = RunOutcome | { readonly kind: "overdue" };

/** Beyond a call's time limit: brokerd's grace for the end of a box, and the start of one on a busy machine. */
const OVERDUE_MS = 4_000;

function textOf({ tool, mode, constraints }: AttackGrant, id: string): string {
  const [[name, values] = ["paths", []]] = Object.entries(constraints);
  return `id = "${id}"\ntool = "${tool}"\nmode = "${mode}"\n[constraints]\n${name} = ${JSON.stringify(values)}\n`;
}

let calls = 0;

/** Decides a call as brokerd would for a new session, and builds its box's spec. */
export function aim({ runtime, reserved, clock }: Target, { tool, arguments: values, grants }: AttackCall): Aim {
  const texts = grants.map((grant, index) => ({ file: `attack-${index}.toml`, text: textOf(grant, `attack-${index}`) }));
  const set = setFromTexts(texts, reserved);
  if (set.kind === "invalid") {
    return { kind: "refused", reason: `the grant is invalid: ${set.problems.map(({ problem }) => problem).join("; ")}` };
  }
  calls++;
  const request: CallRequest = {
    session: SessionId.parse(`attack-${calls}`),
    call: CallId.parse(1),
    tool,
    argumentsText: JSON.stringify(values),
  };
  const verdict = decide(
    request,
    set,
    { label: { taint: "public", untrusted: false }, origin: "terminal", ceiling: "secret", usesSpent: () => 0, pathLabels: [] },
    timestampFromMillis(clock.now()),
    { runtime: runtime.name, image: runtime.image },
  );
  if (verdict.kind !== "allowed") return { kind: "refused", reason: verdict.kind === "ask" ? "it asks" : verdict.reason };
  return { kind: "spec", spec: buildRunSpec(verdict.decision) };
}

/** Runs a call to its end, or to the time when it should long have had one. */
export async function fire({ runtime }: Target, spec: RunSpec, limitMs: number): Promise<Shot> {
  const overdue = AbortSignal.timeout(limitMs + OVERDUE_MS);
  const outcome = await runtime.run(spec, { signal: overdue });
  return outcome.kind === "error" && outcome.code === "cancelled" ? { kind: "overdue" } : outcome;
}

/** How a call ended, for a finding. */
export function phraseShot(shot: Shot): string {
  switch (shot.kind) {
    case "overdue":
      return "the call wasn't ended at its time limit";
    case "error":
      return `the call ended as ${shot.code}: ${quoteText(shot.detail)}`;
    case "done":
      return `the call ended as ${shot.status}: ${quoteText(shot.content.slice(0, 200))}`;
    default:
      return shot satisfies never;
  }
}
