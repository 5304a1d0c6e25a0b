/** Puts the pieces of a reply's tool calls together, whatever the server's habits, without ever mixing two calls. */
import { canonicalJson, readForeignJson } from "@boxmaker/proto";
import { CompletionError } from "./model-error.ts";
import type { ToolCallPiece } from "./server-messages.ts";

/** A call as the model made it: any of the three may be empty or malformed. */
export interface RawToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Growing {
  id: string;
  name: string;
  arguments: string;
}

/** More calls than this in one reply are no reply. */
const MAX_CALLS = 128;

function isWhole(text: string): boolean {
  return text.trim() !== "" && readForeignJson(text).kind === "value";
}

/** The calls of one reply, in the order in which they began. */
export class ToolCallAssembly {
  readonly #calls: Growing[] = [];
  /** Which call each index of the stream stands for now. */
  readonly #byIndex = new Map<number, Growing>();

  /**
   * Takes one piece and returns how many UTF-16 units it added.
   *
   * @throws {CompletionError} `bad_reply` when the piece belongs to no call that can be told
   */
  push(piece: ToolCallPiece): number {
    const id = piece.id ?? "";
    const name = piece.function?.name ?? "";
    const given = piece.function?.arguments ?? "";
    // Ollama's own API gives arguments as an object; its pieces are whole calls.
    const text = typeof given === "string" ? given : canonicalJson(given);
    const call = this.#callFor(piece.index ?? undefined, id, name, text);
    const before = call.id.length + call.name.length + call.arguments.length;
    if (id !== "") call.id = id;
    // A name that is sent again may have grown; pieces of names are not a thing that servers send.
    if (name.startsWith(call.name)) call.name = name === "" ? call.name : name;
    call.arguments += text;
    return call.id.length + call.name.length + call.arguments.length - before;
  }

  /** Whether any piece came. */
  get started(): boolean {
    return this.#calls.length > 0;
  }

  /** The calls; one that has neither a name nor arguments is left out, because nothing was asked for. */
  finish(): readonly RawToolCall[] {
    return this.#calls
      .filter((call) => call.name !== "" || call.arguments.trim() !== "")
      .map((call) => ({
        id: call.id.toWellFormed(),
        name: call.name.toWellFormed(),
        arguments: call.arguments.toWellFormed(),
      }));
  }

  #callFor(index: number | undefined, id: string, name: string, text: string): Growing {
    const current = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index);
    if (current !== undefined && !begins(current, id, name, text)) return current;
    if (current === undefined && index !== undefined && index !== this.#byIndex.size) {
      throw new CompletionError("bad_reply", `a piece of tool call ${index} came before tool call ${this.#byIndex.size}`);
    }
    if (this.#calls.length >= MAX_CALLS) throw new CompletionError("bad_reply", `more than ${MAX_CALLS} tool calls in one reply`);
    const call: Growing = { id: "", name: "", arguments: "" };
    this.#calls.push(call);
    this.#byIndex.set(index ?? this.#byIndex.size, call);
    return call;
  }
}

/** Whether a piece for the place of `current` is the first of another call, as servers send that number all their calls 0. */
function begins(current: Growing, id: string, name: string, text: string): boolean {
  if (id !== "" && current.id !== "" && id !== current.id) return true;
  if (name === "" || current.arguments.trim() === "") return false;
  return !name.startsWith(current.name) || (text.trim() !== "" && isWhole(current.arguments));
}
