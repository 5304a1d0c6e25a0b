/**
 * What the rule of decisions says, a second time: as sentences about sets of grants, without the maxima and minima that policy
 * computes with. Slow and naive on purpose; nothing of policy's own code is used but the shape of a grant.
 */
import type { Grant } from "../../src/rules/grant.ts";

export interface OracleState {
  /** 0 public, 1 private, 2 secret. */
  readonly taint: number;
  readonly untrusted: boolean;
  readonly ceiling: number;
  readonly now: number;
  readonly spent: Readonly<Record<string, number>>;
  readonly session: string;
  readonly origin: string;
}

export type OracleCall =
  | { readonly tool: "read_file"; readonly path: string }
  | { readonly tool: "write_file"; readonly path: string }
  | { readonly tool: "shell"; readonly cwd?: string }
  | { readonly tool: "http_fetch"; readonly host: string };

const CLASSES: Readonly<Record<string, number>> = { public: 0, private: 1, secret: 2 };

function classOf(name: string): number {
  const value = CLASSES[name];
  if (value === undefined) throw new Error(`no such class: ${name}`);
  return value;
}

/** The path and every folder above it, deepest first. */
function upwards(path: string): readonly string[] {
  const steps: string[] = [];
  for (let rest = path; rest !== ""; rest = rest.slice(0, rest.lastIndexOf("/"))) steps.push(rest);
  return steps;
}

function wildcardsOf(host: string): readonly string[] {
  const [, ...parent] = host.split(".");
  return [host, `*.${parent.join(".")}`];
}

/** The paths of the grant that the call is about, or "none". Shell without cwd is about no path, which isn't "none". */
function placesOf(grant: Grant, call: OracleCall): readonly string[] | "none" {
  const among = (candidates: readonly string[]): readonly string[] | "none" => {
    const found = candidates.filter((candidate) => grant.paths.some((path) => path === candidate));
    return found.length === 0 ? "none" : found;
  };
  if (call.tool === "read_file") return among(upwards(call.path));
  // A deny covers the file that it names; a permission needs the folder, since that is what a box mounts.
  if (call.tool === "write_file") return among(grant.mode === "deny" ? upwards(call.path) : upwards(call.path).slice(1));
  if (call.tool === "shell") return call.cwd === undefined ? [] : among(upwards(call.cwd));
  return wildcardsOf(call.host).some((pattern) => grant.hosts.some((host) => host === pattern)) ? [] : "none";
}

function speaks(grant: Grant, call: OracleCall, state: OracleState): boolean {
  return (
    grant.tool === call.tool &&
    (grant.session ?? state.session) === state.session &&
    (grant.origins === null || grant.origins.some((origin) => origin === state.origin)) &&
    placesOf(grant, call) !== "none"
  );
}

const isExpired = (grant: Grant, state: OracleState): boolean => grant.expires !== null && !(state.now < grant.expires);
const isSpent = (grant: Grant, state: OracleState): boolean => grant.uses !== null && !((state.spent[grant.id] ?? 0) < grant.uses);
const isTooTainted = (grant: Grant, state: OracleState): boolean => !(state.taint <= classOf(grant.maxTaint));
const isAlive = (grant: Grant, state: OracleState): boolean =>
  !isExpired(grant, state) && !isSpent(grant, state) && !isTooTainted(grant, state);

/** Whether this grant by itself would let a call run that has been approved. */
function letsRun(grant: Grant, state: OracleState): boolean {
  return grant.mode !== "deny" && isAlive(grant, state) && !(state.untrusted && grant.ifUntrusted === "deny");
}

/** Whether this grant by itself would let a call run that nobody has approved. */
function letsRunUnasked(grant: Grant, state: OracleState): boolean {
  return grant.mode === "auto" && isAlive(grant, state) && !(state.untrusted && grant.ifUntrusted !== "auto");
}

/** What a tool gets where no grant permits. */
export interface OracleOtherwise {
  readonly effect: "ask" | "deny";
  readonly maxTaint: string;
  readonly ifUntrusted: string;
}

function letsRunOtherwise(otherwise: OracleOtherwise, matching: readonly Grant[], state: OracleState): boolean {
  const switchedOff = matching.some((grant) => grant.ifUntrusted === "deny");
  const distrusted = state.untrusted && otherwise.ifUntrusted === "deny";
  return otherwise.effect === "ask" && state.taint <= classOf(otherwise.maxTaint) && !distrusted && !switchedOff;
}

/** `auto`, `ask` or `deny`, before the audience is looked at. */
export function judgeBy(matching: readonly Grant[], state: OracleState, otherwise?: OracleOtherwise): "auto" | "ask" | "deny" {
  const forbidden = matching.some((grant) => grant.mode === "deny");
  const anyway = otherwise !== undefined && letsRunOtherwise(otherwise, matching, state);
  const possible = anyway || matching.some((grant) => letsRun(grant, state));
  if (forbidden || !possible) return "deny";
  const mustAsk = matching.some((grant) => grant.mode === "ask");
  const unasked = matching.some((grant) => letsRunUnasked(grant, state));
  return unasked && !mustAsk ? "auto" : "ask";
}

export interface OracleAnswer {
  /** `auto`, `ask`, or the reason of the denial. */
  readonly outcome: string;
  readonly named: string | null;
}

/** Decides by sets. `resultClass` is what the labels of paths add to the call's class. */
export function oracle(call: OracleCall, grants: readonly Grant[], state: OracleState, pathClass = 0): OracleAnswer {
  const matching = grants.filter((grant) => speaks(grant, call, state));
  const has = (property: (grant: Grant) => boolean): boolean => matching.some(property);
  const outcome = ((): string => {
    if (has((grant) => grant.mode === "deny")) return "denied_by_grant";
    if (matching.length === 0) return "no_grant";
    if (pathClass > state.ceiling || has((grant) => classOf(grant.label) > state.ceiling)) return "audience";
    const judged = judgeBy(matching, state);
    if (judged !== "deny") return judged;
    if (judgeBy(matching, { ...state, untrusted: false }) !== "deny") return "untrusted";
    if (has((grant) => isTooTainted(grant, state))) return "taint";
    return has((grant) => isSpent(grant, state)) ? "uses_spent" : "expired";
  })();
  return { outcome, named: nameOf(matching, call) };
}

/** The one grant that no other one of them goes before. */
function nameOf(matching: readonly Grant[], call: OracleCall): string | null {
  const depth = (grant: Grant): number => {
    const places = placesOf(grant, call);
    return places === "none" ? 0 : Math.max(0, ...places.map((place) => place.length));
  };
  const severity = { auto: 0, ask: 1, deny: 2 };
  const goesBefore = (a: Grant, b: Grant): boolean => {
    if (severity[a.mode] !== severity[b.mode]) return severity[a.mode] > severity[b.mode];
    if (depth(a) !== depth(b)) return depth(a) > depth(b);
    return a.id < b.id;
  };
  return matching.find((grant) => matching.every((other) => other === grant || goesBefore(grant, other)))?.id ?? null;
}
