/** Grants as texts, calls and states for the tests of analysis. */
import assert from "node:assert/strict";
import { Origin, SessionId, ToolCall, timestampFromMillis } from "@boxmaker/proto";
import type { CallExplanation } from "../../src/analysis/index.ts";
import { explain } from "../../src/analysis/index.ts";
import { setFromTexts } from "../../src/grants/index.ts";
import type { ValidGrantSet } from "../../src/rules/grant-set.ts";
import { type StateFields, state } from "../rules/support.ts";

export const SESSION = SessionId.parse("chat-1");
export const NOW = timestampFromMillis(Date.UTC(2026, 10, 1));

/** The set that these texts make: `NAME.toml` holds the text, and its id is its name. */
export function setOf(texts: Readonly<Record<string, string>>): ValidGrantSet {
  const set = setFromTexts(
    Object.entries(texts).map(([name, text]) => ({ file: `${name}.toml`, text: `id = "${name}"\n${text}` })),
    [],
  );
  assert.equal(set.kind, "valid", JSON.stringify(set));
  return set.kind === "valid" ? set : assert.fail();
}

/** The text of a grant: `keys` are lines, the constraint comes last. */
export function grantText(tool: string, mode: string, places: readonly string[], ...keys: readonly string[]): string {
  const kind = tool === "http_fetch" ? "hosts" : "paths";
  return [`tool = "${tool}"`, `mode = "${mode}"`, ...keys, "[constraints]", `${kind} = ${JSON.stringify(places)}`, ""].join("\n");
}

export function callOf(tool: string, args: Readonly<Record<string, string>>): ToolCall {
  return ToolCall.parse({ tool, arguments: args });
}

export function explainIn(set: ValidGrantSet, call: ToolCall, fields: StateFields = {}): CallExplanation {
  return explain({
    call,
    session: SESSION,
    set,
    state: state({ ...fields, origin: Origin.parse(fields.origin ?? "terminal") }),
    now: NOW,
  });
}
