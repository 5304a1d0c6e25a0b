/** Makes decisions for the runner's tests in the only way there is: policy decides over a grant. */

import type { Decision } from "@boxmaker/policy";
import { completeGrant, decide, GrantFile, type LoadedGrant } from "@boxmaker/policy";
import { AbsPath, CallId, type DataClass, SessionId, sha256, Timestamp, type ToolName } from "@boxmaker/proto";
import type { Runtime } from "../../src/runner/runtime.ts";

const NOW = Timestamp.parse("2026-11-29T12:00:00.000Z");

export interface CallOptions {
  readonly tool: ToolName;
  readonly arguments: object;
  readonly paths: readonly string[];
  readonly hosts?: readonly string[];
  /** What the grant asks of the arguments. */
  readonly args?: object;
  readonly denied?: readonly string[];
  readonly hostExec?: boolean;
  readonly session?: string;
  /** Of the grant's results; its tool's default unless given. */
  readonly label?: DataClass;
}

function load(id: string, file: object): LoadedGrant {
  const text = JSON.stringify({ id, ...file });
  return { grant: completeGrant(GrantFile.parse({ id, ...file })), file: `${id}.toml`, sha256: sha256(text), text };
}

/** The decision of a call that a grant for these paths allows. */
export function decideCall(runtime: Pick<Runtime, "name" | "image">, options: CallOptions): Decision {
  const { tool, paths, hosts, args, denied = [], hostExec = false, session = "test", label } = options;
  const constraints = { ...(hosts === undefined ? { paths } : { hosts }), ...(args === undefined ? {} : { args }) };
  const grants = [
    load("allowed", { tool, mode: "auto", host_exec: hostExec, constraints, ...(label === undefined ? {} : { label }) }),
  ];
  // Of another tool, so that it doesn't deny this call; what it names is masked all the same.
  const otherTool = tool === "read_file" ? "write_file" : "read_file";
  if (denied.length > 0) grants.push(load("denied", { tool: otherTool, mode: "deny", constraints: { paths: denied } }));
  const verdict = decide(
    { session: SessionId.parse(session), call: CallId.parse(1), tool, argumentsText: JSON.stringify(options.arguments) },
    { kind: "valid", grants, files: grants },
    { label: { taint: "public", untrusted: false }, origin: "terminal", ceiling: "secret", usesSpent: () => 0, pathLabels: [] },
    NOW,
    { runtime: runtime.name, image: runtime.image },
  );
  if (verdict.kind !== "allowed") throw new Error(`expected the call to be allowed, got ${JSON.stringify(verdict)}`);
  return verdict.decision;
}

/** A path that is known to be one. */
export function absPath(text: string): AbsPath {
  return AbsPath.parse(text);
}
