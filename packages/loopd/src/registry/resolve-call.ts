/** What a call of the model comes down to: an answer of loopd's own, or a target tool that brokerd decides on. */
import { canonicalJson, RequestedTool } from "@boxmaker/proto";
import { type AcceptedCall, type CallArguments, isObject, readArguments } from "../turn/accept-calls.ts";
import { CALL_TOOL, CLOCK, FIND_TOOL } from "./core-tools.ts";

/**
 * `tool` is always the target tool. `refused` goes back to the model as `sentence`; its `tool` is null where the call names none.
 */
export type ResolvedCall =
  | { readonly kind: "clock"; readonly tool: string; readonly arguments: CallArguments }
  | { readonly kind: "find_tool"; readonly tool: string; readonly arguments: CallArguments; readonly query: string }
  | { readonly kind: "broker"; readonly tool: string; readonly arguments: CallArguments & { readonly kind: "object" } }
  | { readonly kind: "refused"; readonly tool: string | null; readonly arguments: CallArguments; readonly sentence: string };

const NO_NAME = "Failed: the call names no tool.";
const BAD_NAME = "Failed: there is no tool of that name.";
const NOT_AN_OBJECT = "Failed: the arguments are not one JSON object. Call again with a JSON object.";
const NO_TARGET = 'Failed: call_tool needs {"name": the tool\'s name, "arguments": its arguments}.';
const ITSELF = "Failed: call_tool can't call itself.";

/** `arguments` of call_tool: an object, or one as text, which is what some models write. */
function innerArguments(value: unknown): CallArguments {
  if (value === undefined || value === null) return { kind: "object", text: "{}", value: {} };
  if (typeof value === "string") return readArguments(value);
  return isObject(value)
    ? { kind: "object", text: canonicalJson(value), value }
    : { kind: "malformed", text: canonicalJson(value) };
}

function resolveTarget(name: string, args: CallArguments): ResolvedCall {
  if (name === "") return { kind: "refused", tool: null, arguments: args, sentence: NO_NAME };
  if (!RequestedTool.safeParse(name).success) return { kind: "refused", tool: null, arguments: args, sentence: BAD_NAME };
  if (args.kind === "malformed") return { kind: "refused", tool: name, arguments: args, sentence: NOT_AN_OBJECT };
  if (name === CLOCK) return { kind: "clock", tool: name, arguments: args };
  if (name === FIND_TOOL) {
    const { query } = args.value;
    return { kind: "find_tool", tool: name, arguments: args, query: typeof query === "string" ? query : "" };
  }
  return { kind: "broker", tool: name, arguments: args };
}

/** Resolves one call. `call_tool` never appears as a tool: it stands for its target. */
export function resolveCall({ name, arguments: args }: AcceptedCall): ResolvedCall {
  if (name !== CALL_TOOL) return resolveTarget(name, args);
  if (args.kind === "malformed") return { kind: "refused", tool: null, arguments: args, sentence: NOT_AN_OBJECT };
  const { name: target, arguments: inner } = args.value;
  if (typeof target !== "string" || target === "") return { kind: "refused", tool: null, arguments: args, sentence: NO_TARGET };
  if (target === CALL_TOOL) return { kind: "refused", tool: null, arguments: args, sentence: ITSELF };
  return resolveTarget(target.toWellFormed(), innerArguments(inner));
}
