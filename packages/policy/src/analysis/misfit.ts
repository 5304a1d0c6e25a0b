/** What it is about a grant that doesn't fit a call. */
import type { Origin, SessionId, ToolCall } from "@boxmaker/proto";
import type { Grant } from "../rules/grant.ts";
import { fitsCall } from "../rules/matching.ts";

/** The first constraint that a call fails, and whose predicate it is where it's one on an argument. */
export interface Misfit {
  readonly fails: "session" | "origins" | "paths" | "hosts" | "args";
  readonly argument: string | null;
}

/**
 * The first thing that keeps a grant of the call's tool from speaking about the call: `undefined` where it does speak about it.
 *
 * Asked of the matching itself, by leaving constraints out, so that it can't come to another answer.
 */
export function firstMisfit(grant: Grant, call: ToolCall, session: SessionId, origin: Origin): Misfit | undefined {
  if (grant.session !== null && grant.session !== session) return { fails: "session", argument: null };
  if (grant.origins !== null && !grant.origins.includes(origin)) return { fails: "origins", argument: null };
  if (fitsCall({ ...grant, args: new Map() }, call) === undefined) {
    return { fails: call.tool === "http_fetch" ? "hosts" : "paths", argument: null };
  }
  for (const [argument, predicate] of grant.args) {
    if (fitsCall({ ...grant, args: new Map([[argument, predicate]]) }, call) === undefined) return { fails: "args", argument };
  }
  return undefined;
}
