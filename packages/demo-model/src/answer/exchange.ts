/** What a server does in answer to one chat request, step by step. */
import type { CallPiece, Delta, FinishReason } from "../api/chunk.ts";
import { type ErrorBody, errorBody } from "../api/error-body.ts";
import { randomId } from "./random-id.ts";

/** One step of an answer. The status line and headers go out with the first step that sends something. */
export type Step =
  /** Sends status line and headers, and nothing else. */
  | { readonly kind: "headers" }
  /** The beginning of every stream: prompt progress if it was asked for, then the event that names the role. */
  | { readonly kind: "start" }
  /** An event with a piece of the reply. */
  | { readonly kind: "delta"; readonly delta: Delta }
  /** The event that says why the reply ended, with timings, and the usage event if it was asked for. */
  | { readonly kind: "finish"; readonly reason: FinishReason }
  /** `data: [DONE]`. */
  | { readonly kind: "done" }
  /** An event with any JSON, such as an error in the middle of a stream. */
  | { readonly kind: "event"; readonly data: unknown }
  /** Bytes of the body as they are: a recorded stream, `proxy error`, half a line. */
  | { readonly kind: "bytes"; readonly bytes: string | Uint8Array }
  /** The comment that a server sends when it has been silent for long. */
  | { readonly kind: "ping" }
  /** Nothing happens until `gate` resolves. */
  | { readonly kind: "wait"; readonly gate: Promise<unknown> }
  /** Closes the connection without an end of the body. */
  | { readonly kind: "cut" }
  /** Bytes of the connection as they are, status line and framing included. Not together with steps that send in another way. */
  | { readonly kind: "wire"; readonly bytes: string | Uint8Array };

/** An answer to one chat request. */
export type Exchange =
  /** An error before a slot is taken: a status and a JSON body. */
  | { readonly kind: "refusal"; readonly status: number; readonly body: unknown }
  /** A stream, or for a request without `stream` the same reply in one body. */
  | {
      readonly kind: "stream";
      readonly steps: readonly Step[];
      /** The connection is closed after this many bytes of the body, framing not counted; null for never. */
      readonly cutAt: number | null;
      /** `bytes` sends each byte of the body on its own. */
      readonly split: "none" | "bytes";
      /** The slot stays busy after the answer, or after the client has gone, until this resolves. */
      readonly holdSlot: Promise<unknown> | null;
    };

/** A call that a reply makes. */
export interface ReplyCall {
  readonly name: string | null;
  /** The JSON text as the model wrote it, which needn't be JSON; null for none at all. */
  readonly arguments: string | null;
  /** Missing means 32 letters and digits made by the server; null means that the server sends none. */
  readonly id?: string | null;
}

/** A whole reply, in the order in which its parts are sent. */
export interface Reply {
  readonly reasoning?: string;
  readonly content?: string;
  readonly calls?: readonly ReplyCall[];
  /** Missing means `tool_calls` if there are calls, and `stop` if not. */
  readonly finish?: FinishReason;
}

/** Settings of a stream that are seldom needed. */
export interface StreamOptions {
  readonly cutAt?: number;
  readonly split?: "none" | "bytes";
  readonly holdSlot?: Promise<unknown>;
}

/** An answer made of steps. */
export function stream(steps: readonly Step[], options: StreamOptions = {}): Exchange {
  return {
    kind: "stream",
    steps,
    cutAt: options.cutAt ?? null,
    split: options.split ?? "none",
    holdSlot: options.holdSlot ?? null,
  };
}

/** An answer that is one whole reply. */
export function reply(content: Reply, options: StreamOptions = {}): Exchange {
  return stream(replySteps(content), options);
}

/** An error instead of an answer. */
export function refuse(status: number, message: string, type: string, more: Readonly<Record<string, unknown>> = {}): Exchange {
  return { kind: "refusal", status, body: errorBody(status, message, type, more) satisfies ErrorBody };
}

/** The steps of a whole reply, from its start to `[DONE]`. */
export function replySteps(content: Reply): readonly Step[] {
  const calls = content.calls ?? [];
  const deltas: Delta[] = [
    ...pieces(content.reasoning ?? "").map((reasoning_content) => ({ reasoning_content })),
    ...pieces(content.content ?? "").map((text) => ({ content: text })),
    ...calls.flatMap((call, index) => callPieces(call, index).map((piece) => ({ tool_calls: [piece] }))),
  ];
  return [
    { kind: "start" },
    ...deltas.map((delta): Step => ({ kind: "delta", delta })),
    { kind: "finish", reason: content.finish ?? (calls.length === 0 ? "stop" : "tool_calls") },
    { kind: "done" },
  ];
}

function callPieces(call: ReplyCall, index: number): readonly CallPiece[] {
  const id = call.id === undefined ? randomId() : call.id;
  const first: CallPiece = {
    index,
    ...(id === null ? {} : { id }),
    type: "function",
    function: call.name === null ? {} : { name: call.name },
  };
  return [first, ...pieces(call.arguments ?? "").map((text): CallPiece => ({ index, function: { arguments: text } }))];
}

/** Cuts text as tokens would: words with the space before them, long ones in parts, never inside a character. */
function pieces(text: string): readonly string[] {
  return text.match(/\s*\S{1,12}|\s+/gu) ?? [];
}
