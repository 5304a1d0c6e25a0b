/** Makes a reply's tool calls safe to store: whatever the model wrote, the next request with them in it must not fail. */
import { type ModelToolCall, readForeignJson } from "@boxmaker/proto";
import type { RawToolCall } from "../model/tool-call-assembly.ts";

/** Nothing deeper is stored: a template that renders it recursively would fail on every later request. */
const MAX_DEPTH = 64;
const STORABLE_ID = /^[A-Za-z0-9_.:-]{1,128}$/u;
const STORABLE_NAME = /^[A-Za-z0-9_.:/-]{1,128}$/u;
const MAX_NAME = 128;

/** The arguments as an object and as the text that came, or why they are neither. */
export type CallArguments =
  | { readonly kind: "object"; readonly text: string; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: "malformed"; readonly text: string };

/** One call: how it is stored, and what was asked for. */
export interface AcceptedCall {
  readonly stored: ModelToolCall;
  /** The tool as the model named it, well-formed and at most 128 characters; empty where it named none. */
  readonly name: string;
  readonly arguments: CallArguments;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether other readers take it as we do: no lone surrogate, no number beyond a double, no deep nest. */
function isRenderable(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth >= MAX_DEPTH) return false;
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isRenderable(member, depth + 1));
}

/** Reads arguments. No text at all is what some models write for a call without any. */
export function readArguments(text: string): CallArguments {
  if (text.trim() === "") return { kind: "object", text: "{}", value: {} };
  const reading = readForeignJson(text);
  return reading.kind === "value" && isObject(reading.value)
    ? { kind: "object", text, value: reading.value }
    : { kind: "malformed", text };
}

/** Nine letters and digits, which is what the strictest of the common chat templates asks for. */
function madeUpId(number: number): string {
  return `call${number.toString(36).padStart(5, "0")}`;
}

/**
 * Accepts the calls of one reply, in order.
 *
 * @param firstNumber the number from which ids are made up where the server gave none, or the same one twice
 * @param earlier ids of calls before, which aren't made up again: an epoch's number begins anew, and what it carries over has some
 */
export function acceptCalls(
  calls: readonly RawToolCall[],
  firstNumber: number,
  earlier: ReadonlySet<string>,
): readonly AcceptedCall[] {
  const taken = new Set<string>();
  let number = firstNumber;
  return calls.map((call) => {
    let { id } = call;
    if (!STORABLE_ID.test(id) || taken.has(id)) {
      do id = madeUpId(number++);
      while (taken.has(id) || earlier.has(id));
    }
    taken.add(id);
    const read = readArguments(call.arguments);
    const storable = read.kind === "object" && isRenderable(read.value);
    return {
      stored: { id, name: STORABLE_NAME.test(call.name) ? call.name : "unknown", arguments: storable ? read.text : "{}" },
      name: [...call.name].slice(0, MAX_NAME).join("").slice(0, MAX_NAME).toWellFormed(),
      arguments: read,
    };
  });
}
