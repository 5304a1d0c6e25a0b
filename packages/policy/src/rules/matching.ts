/** Which grants speak about a call, and which of them the record names. */
import {
  type AbsPath,
  holdsPath,
  hostOfUrl,
  isProperParent,
  matchesHost,
  type Origin,
  type SessionId,
  type ToolCall,
  unreachable,
} from "@boxmaker/proto";
import { compareStrictestFirst } from "./effect.ts";
import type { Grant, LoadedGrant } from "./grant.ts";
import type { GrantIndex } from "./grant-index.ts";
import { ARGUMENT_SHAPES, holdsPredicate } from "./predicate.ts";

/** A grant that speaks about a call. `path` is the longest of its paths that holds the call's, null where the call names none. */
export interface Match {
  readonly loaded: LoadedGrant;
  readonly path: AbsPath | null;
}

type Fit = { readonly path: AbsPath | null };

function longest(paths: readonly AbsPath[]): Fit | undefined {
  const [first, ...rest] = paths;
  if (first === undefined) return undefined;
  return { path: rest.reduce((best, path) => (path.length > best.length ? path : best), first) };
}

/**
 * Whether a grant path covers the target of a write. What permits has to hold the folder that the file lies in, since that is what is
 * mounted; a deny of the very file is a deny of writing it all the same.
 */
function coversWrite(grant: Grant, path: AbsPath, target: AbsPath): boolean {
  return grant.mode === "deny" ? holdsPath(path, target) : isProperParent(path, target);
}

function fitConstraints(grant: Grant, call: ToolCall): Fit | undefined {
  switch (call.tool) {
    case "read_file":
      return longest(grant.paths.filter((path) => holdsPath(path, call.arguments.path)));
    case "write_file":
      return longest(grant.paths.filter((path) => coversWrite(grant, path, call.arguments.path)));
    case "shell": {
      const { cwd } = call.arguments;
      return cwd === undefined ? { path: null } : longest(grant.paths.filter((path) => holdsPath(path, cwd)));
    }
    case "http_fetch": {
      const host = hostOfUrl(call.arguments.url);
      return grant.hosts.some((pattern) => matchesHost(pattern, host)) ? { path: null } : undefined;
    }
    default:
      return unreachable(call);
  }
}

/** An argument of canonical arguments by name. */
function argumentOf(call: ToolCall, name: string): string | undefined {
  const entry = Object.entries(call.arguments).find(([key]) => key === name);
  const value: unknown = entry?.[1];
  return typeof value === "string" ? value : undefined;
}

function fitsPredicates(grant: Grant, call: ToolCall): boolean {
  const shapes = ARGUMENT_SHAPES[call.tool];
  for (const [name, predicate] of grant.args) {
    const shape = shapes.get(name);
    if (shape === undefined || !holdsPredicate(predicate, shape.kind, argumentOf(call, name))) return false;
  }
  return true;
}

/** Whether the grant's tool and constraints fit the call, whatever session, state and time it is. */
export function fitsCall(grant: Grant, call: ToolCall): Fit | undefined {
  if (grant.tool !== call.tool) return undefined;
  const fit = fitConstraints(grant, call);
  return fit !== undefined && fitsPredicates(grant, call) ? fit : undefined;
}

/**
 * The grants that speak about the call, in the order that decides which one is named: the most restrictive mode, then the longest
 * matched path, then the lowest id. The order of the grants doesn't matter.
 */
export function findMatches(grants: GrantIndex, call: ToolCall, session: SessionId, origin: Origin): readonly Match[] {
  const matches: Match[] = [];
  for (const loaded of grants.candidates(call)) {
    const { grant } = loaded;
    if (grant.session !== null && grant.session !== session) continue;
    if (grant.origins !== null && !grant.origins.includes(origin)) continue;
    const fit = fitsCall(grant, call);
    if (fit !== undefined) matches.push({ loaded, path: fit.path });
  }
  return matches.sort(compareForNaming);
}

function compareForNaming(a: Match, b: Match): number {
  const byMode = compareStrictestFirst(a.loaded.grant.mode, b.loaded.grant.mode);
  if (byMode !== 0) return byMode;
  const byLength = (b.path?.length ?? 0) - (a.path?.length ?? 0);
  if (byLength !== 0) return byLength;
  return a.loaded.grant.id < b.loaded.grant.id ? -1 : 1;
}
