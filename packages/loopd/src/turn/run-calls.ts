/** Runs the tool calls of one reply, in their order, and records each result. */
import type { Clock } from "@boxmaker/edge/log";
import {
  type CallId,
  DENIAL_SENTENCES,
  escapeText,
  type SessionRecord,
  type TurnEvent,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import { findTools } from "../registry/registry.ts";
import { type ResolvedCall, resolveCall } from "../registry/resolve-call.ts";
import type { Session } from "../session/session.ts";
import type { AcceptedCall } from "./accept-calls.ts";
import { cutText } from "./cut-text.ts";
import type { RepeatedCalls } from "./repeated-calls.ts";
import type { Seen } from "./seen.ts";
import type { ToolEnd, ToolPort } from "./tool-port.ts";

export interface CallContext {
  readonly session: Session;
  /** The number of the turn's first call, whether it has made one yet or not. */
  readonly turn: CallId;
  readonly port: ToolPort;
  readonly clock: Clock;
  readonly limits: { readonly calls: number; readonly result_bytes: number };
  readonly seen: Seen;
  readonly repeated: RepeatedCalls;
  readonly emit: (event: TurnEvent) => void;
  readonly onRecord: (record: SessionRecord) => void;
  readonly signal: AbortSignal;
}

/** `repeated`: the model makes the same call a third time. Calls that weren't run then have no result yet. */
export type CallsEnd = "done" | "cancelled" | "repeated";

type ToolResult = Extract<SessionRecord, { readonly kind: "tool_result" }>;
type ResultFields = Omit<ToolResult, "kind" | "id" | "tool">;

const ALREADY_CALLED = "Already called: this turn has made the same call with the same arguments. Use its result.";
const CUT_REPLY = "Failed: the reply was cut at its length limit, so the call may be incomplete and was not run.";

function told(content: string): ResultFields {
  return { call: null, content, class: null, untrusted: null, truncated: false };
}

class CallRun {
  readonly #context: CallContext;

  constructor(context: CallContext) {
    this.#context = context;
  }

  async record(accepted: AcceptedCall, tool: string | null, fields: ResultFields): Promise<void> {
    const { session, onRecord } = this.#context;
    const record: ToolResult = { kind: "tool_result", ...fields, id: accepted.stored.id, tool: tool ?? "" };
    await session.append(record);
    onRecord(record);
  }

  /** A call that isn't made: the model is told why. */
  async refuse(accepted: AcceptedCall, tool: string | null, sentence: string): Promise<void> {
    await this.record(accepted, tool, told(sentence));
    if (tool !== null) this.#context.emit({ event: "tool_failed", tool, message: sentence });
  }

  async answerLocally(accepted: AcceptedCall, tool: string, content: string): Promise<void> {
    const shown = cutText(content, this.#context.limits.result_bytes);
    const fields = { call: null, content: shown.text, class: "public", untrusted: false, truncated: shown.cut } as const;
    await this.record(accepted, tool, fields);
    this.#context.emit({ event: "tool_result", tool, class: "public", truncated: shown.cut });
  }

  async send(accepted: AcceptedCall, resolved: Extract<ResolvedCall, { readonly kind: "broker" }>): Promise<CallsEnd> {
    const { session, turn, port, emit, signal } = this.#context;
    const { tool } = resolved;
    const call = await session.takeCall(accepted.stored.id, tool);
    const request = { session: session.id, call, turn, tool, arguments: resolved.arguments.text };
    const end = await port.call(request, {
      onPending: ({ approval, expires }) => emit({ event: "approval_pending", approval, tool, expires }),
      signal,
    });
    return await this.#finish(accepted, tool, { ...told(""), call }, end);
  }

  async #finish(accepted: AcceptedCall, tool: string, fields: ResultFields, end: ToolEnd): Promise<CallsEnd> {
    const { emit, limits, seen } = this.#context;
    switch (end.outcome) {
      case "cancelled":
        return "cancelled";
      case "denied":
        await this.record(accepted, tool, { ...fields, content: DENIAL_SENTENCES[end.reason] });
        emit({ event: "tool_denied", tool, reason: end.reason });
        return "done";
      case "failed": {
        const message = cutText(end.message, limits.result_bytes).text;
        await this.record(accepted, tool, { ...fields, content: message });
        emit({ event: "tool_failed", tool, message: escapeText(message) });
        return "done";
      }
      case "result": {
        const shown = cutText(end.content, limits.result_bytes);
        const truncated = end.truncated || shown.cut;
        const { class: dataClass, untrusted } = end;
        await this.record(accepted, tool, { ...fields, content: shown.text, class: dataClass, untrusted, truncated });
        emit({ event: "tool_result", tool, class: dataClass, truncated });
        const raised = seen.add(tool, dataClass, untrusted);
        if (raised !== undefined) emit(raised);
        return "done";
      }
      default:
        return unreachable(end);
    }
  }
}

/**
 * Runs calls one after another: a result is recorded before the next call is made. Between two calls the turn can be cancelled.
 *
 * @param cut whether the reply was cut at a length limit; none of its calls is made then
 */
export async function runCalls(context: CallContext, calls: readonly AcceptedCall[], cut: boolean): Promise<CallsEnd> {
  const run = new CallRun(context);
  for (const [index, accepted] of calls.entries()) {
    if (context.signal.aborted) return "cancelled";
    const resolved = resolveCall(accepted);
    const { tool } = resolved;
    if (tool !== null) context.emit({ event: "tool_call", tool });
    if (cut) {
      await run.refuse(accepted, tool, CUT_REPLY);
      continue;
    }
    if (index >= context.limits.calls) {
      await run.refuse(accepted, tool, `Not run: one reply can make at most ${context.limits.calls} calls.`);
      continue;
    }
    const times = context.repeated.count(tool ?? "", resolved.arguments);
    if (times > 2) return "repeated";
    if (times === 2) {
      await run.refuse(accepted, tool, ALREADY_CALLED);
      continue;
    }
    const end = await runOne(run, accepted, resolved, context.clock);
    if (end !== "done") return end;
  }
  return "done";
}

async function runOne(run: CallRun, accepted: AcceptedCall, resolved: ResolvedCall, clock: Clock): Promise<CallsEnd> {
  switch (resolved.kind) {
    case "refused":
      await run.refuse(accepted, resolved.tool, resolved.sentence);
      return "done";
    case "clock":
      await run.answerLocally(accepted, resolved.tool, timestampFromMillis(clock.now()));
      return "done";
    case "find_tool":
      await run.answerLocally(accepted, resolved.tool, findTools(resolved.query));
      return "done";
    case "broker":
      return await run.send(accepted, resolved);
    default:
      return unreachable(resolved);
  }
}
