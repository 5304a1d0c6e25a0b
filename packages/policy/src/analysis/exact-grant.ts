/** The grant that lets exactly one approved call run again: these arguments, this box, no higher state than the one it was approved in. */
import { type AskBlock, hostOfUrl, millisFromTimestamp, type Origin, type Timestamp, unreachable } from "@boxmaker/proto";
import type { LoadedGrant } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { findMatches } from "../rules/matching.ts";
import { type GrantDraft, loadDraft } from "./grant-text.ts";

export interface ExactLimits {
  /** Of the new grant; must be free. */
  readonly id: string;
  /** How many calls it lets run; null: any number. */
  readonly uses: number | null;
  readonly expires: Timestamp | null;
}

/** `no_place`: the call's box holds no folder, so there is none that a grant could name. */
export type ExactGrant = { readonly kind: "grant"; readonly loaded: LoadedGrant } | { readonly kind: "no_place" };

type Scope = Pick<GrantDraft, "paths" | "hosts" | "args" | "hostExec">;

/** Only these arguments, in a box with the same folders: a grant of a folder inside one that a box may write would be refused. */
function scopeOf({ request, run }: AskBlock): Scope {
  const paths = [...run.mounts.map(({ path }) => path), ...run.exposed];
  const hostExec = run.host_exec ? true : null;
  switch (request.tool) {
    case "read_file":
      return { paths, args: { path: [request.arguments.path] } };
    case "write_file":
      return { paths, hostExec, args: { path: [request.arguments.path] } };
    case "shell": {
      const { command, cwd } = request.arguments;
      return { paths, hostExec, args: { command: [command], cwd: cwd === undefined ? null : [cwd] } };
    }
    case "http_fetch":
      return { hosts: [hostOfUrl(request.arguments.url)], args: { url: [request.arguments.url] } };
    default:
      return unreachable(request);
  }
}

/** The exact-scope grant of an ask that the owner approves. What write_file writes isn't part of the scope: the file is. */
export function exactGrant(ask: AskBlock, { id, uses, expires }: ExactLimits): ExactGrant {
  const scope = scopeOf(ask);
  if (scope.paths?.length === 0) return { kind: "no_place" };
  const loaded = loadDraft({
    id,
    tool: ask.request.tool,
    mode: "auto",
    maxTaint: ask.before.taint,
    // Approved in an untrusted session, it is to run in one.
    ifUntrusted: ask.before.untrusted ? "auto" : null,
    label: ask.label.taint,
    untrusted: ask.label.untrusted,
    expires: expires === null ? null : millisFromTimestamp(expires),
    uses,
    ...scope,
    remarks: [`the call of approval ${ask.approval}, session ${ask.session}`],
  });
  return { kind: "grant", loaded };
}

/** Grants that make the call ask (or deny it) whatever is granted beside them: an exact grant doesn't lift these. */
export function restrictionsOn({ request, session }: AskBlock, origin: Origin, set: ValidGrantSet): readonly string[] {
  return findMatches(GrantIndex.of(set.grants), request, session, origin)
    .filter(({ loaded }) => loaded.grant.mode !== "auto")
    .map(({ loaded }) => loaded.grant.id);
}
