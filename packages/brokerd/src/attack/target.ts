/** What is attacked: the runtime that the configuration names, and calls of it that policy has decided. */
import type { Clock } from "@boxmaker/edge/log";
import { type CallRequest, decide } from "@boxmaker/policy";
import { setFromTexts } from "@boxmaker/policy/grants";
import { type AbsPath, CallId, quoteText, SessionId, type ToolName, timestampFromMillis, unreachable } from "@boxmaker/proto";
import { buildRunSpec, type RunSpec } from "../runner/run-spec.ts";
import type { RunnerConfig } from "../runner/runner-config.ts";
import type { RunOutcome, Runtime } from "../runner/runtime.ts";
import type { WaitingBoxes } from "./waiting-boxes.ts";

export interface Target {
  readonly runtime: Runtime;
  readonly config: RunnerConfig;
  /** The runtime's own places, which no grant may name. */
  readonly reserved: readonly AbsPath[];
  /** Why boxes have no memory and process limits, where they have none. */
  readonly limitsProblem: string | undefined;
  readonly clock: Clock;
  /** Where calls are to be made in boxes that wait for them; null: each in a box that is started for it. */
  readonly waiting: WaitingBoxes | null;
  /** Once it aborts nothing more is tried: every call ends at once. */
  readonly stop: AbortSignal;
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
  /** A name for calls of one session; one of its own unless given. */
  readonly session?: string;
}

/** A call that policy let run, and a harmless one that needs the very same box. */
export interface Aimed {
  readonly kind: "spec";
  readonly spec: RunSpec;
  readonly warmUp: RunSpec;
}

/** `refused`: policy let it not run at all. */
export type Aim = Aimed | { readonly kind: "refused"; readonly reason: string };

/** `overdue`: it was still running well after it should have been ended. `not_waiting`: no box that waited has served it. */
export type Shot = RunOutcome | { readonly kind: "overdue" } | { readonly kind: "not_waiting" };

/** Beyond a call's time limit: brokerd's grace for the end of a box, and the start of one on a busy machine. */
const OVERDUE_MS = 4_000;

function textOf({ tool, mode, constraints }: AttackGrant, id: string): string {
  const [[name, values] = ["paths", []]] = Object.entries(constraints);
  return `id = "${id}"\ntool = "${tool}"\nmode = "${mode}"\n[constraints]\n${name} = ${JSON.stringify(values)}\n`;
}

let calls = 0;

/** Arguments of a call that needs the same box and does nothing. */
function harmless({ tool, grants }: AttackCall): object {
  const [place = ""] = grants.flatMap(({ mode, constraints }) =>
    mode !== "auto" ? [] : "paths" in constraints ? constraints.paths : constraints.hosts,
  );
  switch (tool) {
    case "shell":
      return { command: ":" };
    case "read_file":
      return { path: `${place}/warm-up` };
    case "write_file":
      return { path: `${place}/warm-up`, content: "" };
    case "http_fetch":
      return { url: `http://${place.replace("*", "web")}/` };
    default:
      return unreachable(tool);
  }
}

/** Decides a call as brokerd would for a new session, and builds its box's spec. */
export function aim(target: Target, call: AttackCall): Aim {
  const { tool, grants } = call;
  const texts = grants.map((grant, index) => ({ file: `attack-${index}.toml`, text: textOf(grant, `attack-${index}`) }));
  const set = setFromTexts(texts, target.reserved);
  if (set.kind === "invalid") {
    return { kind: "refused", reason: `the grant is invalid: ${set.problems.map(({ problem }) => problem).join("; ")}` };
  }
  calls++;
  const session = SessionId.parse(call.session ?? `attack-${calls}`);
  const decided = (values: object): RunSpec | string => {
    const request: CallRequest = { session, call: CallId.parse(1), tool, argumentsText: JSON.stringify(values) };
    const verdict = decide(
      request,
      set,
      { label: { taint: "public", untrusted: false }, origin: "terminal", ceiling: "secret", usesSpent: () => 0, pathLabels: [] },
      timestampFromMillis(target.clock.now()),
      { runtime: target.runtime.name, image: target.runtime.image },
    );
    if (verdict.kind === "allowed") return buildRunSpec(verdict.decision);
    return verdict.kind === "ask" ? "it asks" : verdict.reason;
  };
  const spec = decided(call.arguments);
  if (typeof spec === "string") return { kind: "refused", reason: spec };
  const warmUp = decided(harmless(call));
  if (typeof warmUp === "string") return { kind: "refused", reason: `the call before it: ${warmUp}` };
  return { kind: "spec", spec, warmUp };
}

/** Runs a call to its end, or to the time when it should long have had one. */
export async function fire(target: Target, { spec, warmUp }: Aimed, limitMs: number): Promise<Shot> {
  const { runtime, waiting, stop } = target;
  if (stop.aborted) return { kind: "overdue" };
  const served = await waiting?.prepare(warmUp, limitMs);
  const overdue = AbortSignal.timeout(limitMs + OVERDUE_MS);
  const outcome = await runtime.run(spec, { signal: AbortSignal.any([overdue, stop]) });
  if (outcome.kind === "error" && outcome.code === "cancelled") return { kind: "overdue" };
  // A box that doesn't fit any more is told before it gets its call.
  const isRefused = outcome.kind === "error" && outcome.code === "mount_changed";
  return waiting === null || isRefused || waiting.served !== served ? outcome : { kind: "not_waiting" };
}

/** How a call ended, for a finding. */
export function phraseShot(shot: Shot): string {
  switch (shot.kind) {
    case "overdue":
      return "the call wasn't ended at its time limit";
    case "not_waiting":
      return "no box that waited has served the call";
    case "error":
      return `the call ended as ${shot.code}: ${quoteText(shot.detail)}`;
    case "done":
      return `the call ended as ${shot.status}: ${quoteText(shot.content.slice(0, 200))}`;
    default:
      return shot satisfies never;
  }
}
