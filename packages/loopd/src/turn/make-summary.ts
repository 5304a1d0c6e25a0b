/** Asks the model to sum the conversation up, at most three times, each time with less to read. */
import { type EpochEnd, type SessionRecord, type TurnEvent, type Usage, unreachable } from "@boxmaker/proto";
import type { Completion, ModelEvent } from "../model/completion.ts";
import type { Session } from "../session/session.ts";
import { cutText } from "./cut-text.ts";
import { modelFailure } from "./model-failure.ts";
import type { ModelPort } from "./model-port.ts";
import { summaryRequest } from "./summary-request.ts";
import { addUsage, type FailedTurn } from "./turn-outcome.ts";

/** The whole conversation, then each text cut to so many bytes. */
const ATTEMPTS = [null, 1_024, 128] as const;

/**
 * A summary gets no more bytes than the context has tokens, divided by this. No text has more tokens than bytes, so a summary, which is in
 * every request from then on, can't fill the context whatever the model wrote.
 */
const CONTEXT_SHARE = 2;

export interface SummaryContext {
  readonly model: ModelPort;
  readonly session: Session;
  /** Of a summary; fewer where the context is small. */
  readonly maxBytes: number;
  /** Takes what is worth saying while the model works. Must not throw and must not wait. */
  readonly emit: (event: TurnEvent) => void;
  readonly signal: AbortSignal;
}

export type SummaryResult = { readonly kind: "made"; readonly end: EpochEnd } | FailedTurn;

/** The records that a summary is of. */
export function summedUp(records: readonly SessionRecord[], carry: EpochEnd["carry"]): readonly SessionRecord[] {
  return carry === "turn"
    ? records.slice(
        0,
        records.findLastIndex(({ kind }) => kind === "user"),
      )
    : records;
}

/** Whether an event is about waiting; the summary itself isn't part of any answer. */
function isWait(event: ModelEvent): boolean {
  switch (event.event) {
    case "queued":
    case "waiting":
    case "progress":
    case "retrying":
      return true;
    case "text":
    case "reasoning":
    case "thinking_capped":
    case "discarded":
      return false;
    default:
      return unreachable(event);
  }
}

/** Why a reply is no summary; undefined where it is one. */
function faultOf({ content, cut, toolCalls }: Completion): string | undefined {
  if (toolCalls.length > 0) return "it called a tool instead";
  if (content.trim() === "") return "it was empty";
  return cut ? "it was cut at a length limit" : undefined;
}

function noSummary(why: string): FailedTurn {
  const detail = `the model wrote no summary of the conversation: ${why}; see docs/runbook.md#summary-failed`;
  return { kind: "failed", code: "inference", detail };
}

/** Nothing is recorded: that is for who uses the summary. A server that fails, and a cancelled turn, end it at once. */
export async function makeSummary(context: SummaryContext, carry: EpochEnd["carry"]): Promise<SummaryResult> {
  const { model, session, maxBytes, emit, signal } = context;
  const records = summedUp(session.records, carry);
  const onEvent = (event: ModelEvent): void => {
    if (isWait(event)) emit(event);
  };
  let failure = noSummary("it wasn't asked");
  let spent: Usage | undefined;
  for (const shortened of ATTEMPTS) {
    const request = { ...summaryRequest(session.baseline, records, shortened), slot: session.start.slot };
    const result = await model.complete(request, onEvent, signal);
    if (result.kind === "failed") {
      failure = modelFailure(result.error);
      if (result.error.code === "context_full") continue;
      return failure;
    }
    const { completion } = result;
    spent = spent === undefined ? completion.usage : addUsage(spent, completion.usage);
    const fault = faultOf(completion);
    if (fault !== undefined) {
      failure = noSummary(fault);
      continue;
    }
    const context = await model.contextTokens(signal);
    const room = context === null ? maxBytes : Math.min(maxBytes, Math.floor(context / CONTEXT_SHARE));
    const summary = cutText(completion.content.trim().toWellFormed(), room).text;
    return { kind: "made", end: { kind: "epoch_end", carry, shortened, summary, usage: spent } };
  }
  return failure;
}
