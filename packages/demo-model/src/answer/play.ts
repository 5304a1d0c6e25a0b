/** Plays the steps of an answer to a client. */
import type { ChatRequest } from "../api/chat-request.ts";
import {
  type ChunkExtras,
  type ChunkIdentity,
  completionBody,
  deltaChunk,
  type FinishReason,
  type TokenCounts,
  timings,
  usage,
  usageChunk,
} from "../api/chunk.ts";
import { tokenize } from "../tokens/tokenize.ts";
import type { BodyWriter } from "./body-writer.ts";
import type { Step } from "./exchange.ts";
import { Transcript } from "./transcript.ts";

/** Which server's stream it is: only llama-server's has timings and progress. */
export type Flavour = "llama-server" | "openai";

/** What an answer is made with. */
export interface PlayContext {
  readonly request: ChatRequest;
  readonly identity: ChunkIdentity;
  readonly flavour: Flavour;
  readonly cached: number;
  readonly read: number;
  /** Becomes true when a client has asked to end the thought: what is left of it isn't sent. */
  readonly thoughtEnded: () => boolean;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/** Plays an answer as a stream. Returns what was written, for the cache. */
export async function playStream(steps: readonly Step[], writer: BodyWriter, context: PlayContext): Promise<Transcript> {
  const transcript = new Transcript();
  for (const step of steps) {
    if (!(await playStep(step, writer, context, transcript))) {
      return transcript;
    }
  }
  writer.end();
  return transcript;
}

async function playStep(step: Step, writer: BodyWriter, context: PlayContext, transcript: Transcript): Promise<boolean> {
  const send = (event: unknown): Promise<boolean> => writer.write(`data: ${JSON.stringify(event)}\n\n`);
  const { identity } = context;
  switch (step.kind) {
    case "headers":
      return writer.headers();
    case "start":
      for (const extras of [...progress(context), {}]) {
        if (!(await send(deltaChunk(identity, { role: "assistant", content: null }, null, extras)))) {
          return false;
        }
      }
      return true;
    case "delta":
      if (context.thoughtEnded() && step.delta.reasoning_content !== undefined) {
        return true;
      }
      transcript.add(step.delta);
      return send(deltaChunk(identity, step.delta, null, perToken(context, transcript)));
    case "finish": {
      const counts = countTokens(context, transcript);
      const timed: ChunkExtras = context.flavour === "llama-server" ? { timings: timings(counts) } : {};
      const wantsUsage = context.request.stream_options?.include_usage === true;
      const open = await send(deltaChunk(identity, {}, step.reason, wantsUsage ? {} : timed));
      return open && wantsUsage ? send(usageChunk(identity, { usage: usage(counts), ...timed })) : open;
    }
    case "done":
      return writer.write("data: [DONE]\n\n");
    case "event":
      return send(step.data);
    case "bytes":
      return writer.write(step.bytes);
    case "ping":
      return writer.write(":\n\n");
    case "wait":
      return passes(step.gate, context.signal);
    case "cut":
      return writer.cut();
    case "wire":
      return writer.wire(step.bytes);
    default:
      return step satisfies never;
  }
}

/** The same answer in one body, for a request without a stream; undefined if the client goes before. Steps that only a stream has are left out. */
export async function playWhole(
  steps: readonly Step[],
  context: PlayContext,
): Promise<{ readonly body: object | undefined; readonly transcript: Transcript }> {
  const transcript = new Transcript();
  let finish: FinishReason = "stop";
  for (const step of steps) {
    if (step.kind === "delta") {
      transcript.add(step.delta);
    } else if (step.kind === "finish") {
      finish = step.reason;
    } else if (step.kind === "wait" && !(await passes(step.gate, context.signal))) {
      return { body: undefined, transcript };
    }
  }
  const counts = countTokens(context, transcript);
  const extras = { usage: usage(counts), ...(context.flavour === "llama-server" ? { timings: timings(counts) } : {}) };
  return { body: completionBody(context.identity, transcript.message(), finish, extras), transcript };
}

/** Waits for `gate`; false if the client goes before it resolves. */
async function passes(gate: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) {
    return false;
  }
  const gone = Promise.withResolvers<false>();
  const leave = (): void => gone.resolve(false);
  signal.addEventListener("abort", leave);
  const passed = await Promise.race([gate.then(() => true), gone.promise]);
  signal.removeEventListener("abort", leave);
  return passed;
}

function progress(context: PlayContext): readonly ChunkExtras[] {
  if (context.flavour !== "llama-server" || context.request.return_progress !== true) {
    return [];
  }
  const { cached: cache, read } = context;
  const total = cache + read;
  return [
    { prompt_progress: { total, cache, processed: cache, time_ms: 0 } },
    { prompt_progress: { total, cache, processed: total, time_ms: read } },
  ];
}

function perToken(context: PlayContext, transcript: Transcript): ChunkExtras {
  const wanted = context.flavour === "llama-server" && context.request.timings_per_token === true;
  return wanted ? { timings: timings(countTokens(context, transcript)) } : {};
}

function countTokens(context: PlayContext, transcript: Transcript): TokenCounts {
  return { cached: context.cached, read: context.read, written: tokenize(transcript.text()).length };
}
