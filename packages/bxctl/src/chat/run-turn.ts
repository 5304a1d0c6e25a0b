/** One turn: a message to loopd, its events, its end. */
import type { Clock } from "@boxmaker/edge/log";
import { requestReply } from "@boxmaker/edge/socket";
import {
  type ErrorCode,
  escapeText,
  LoopAnswer,
  LoopRequest,
  millisFromTimestamp,
  type SessionId,
  type TurnEvent,
  type Usage,
} from "@boxmaker/proto";
import { phraseExchangeError } from "../box/exchange-problem.ts";

/**
 * How a turn ended. `refused` is loopd's own error, with `detail` escaped. `lost`: there is no end, and one printable line says what
 * is known. `left`: the owner didn't wait for it.
 */
export type TurnEnd =
  | { readonly kind: "done"; readonly content: string; readonly usage: Usage }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly detail: string }
  | { readonly kind: "lost"; readonly problem: string }
  | { readonly kind: "left" };

export interface TurnRequest {
  readonly session: SessionId;
  readonly resume: boolean;
  readonly text: string;
}

export interface TurnOptions {
  readonly socket: string;
  readonly clock: Clock;
  /** Takes the events one by one. Must not throw. */
  readonly onEvent: (event: TurnEvent) => Promise<void>;
  /** Aborts when the owner leaves. */
  readonly signal: AbortSignal;
}

/** The longest time without any event, an ask that waits for its answer apart: longer than any wait of loopd's own. */
const SILENCE_MS = 20 * 60_000;
const LONGEST_SLEEP_MS = 24 * 3_600_000;

/** Aborts `silent` when nothing has been heard for too long. Ends when `stop` aborts. */
async function watchSilence(clock: Clock, patience: () => number, silent: AbortController, stop: AbortSignal): Promise<void> {
  for (;;) {
    const left = patience() - clock.monotonic();
    if (left <= 0) {
      silent.abort();
      return;
    }
    try {
      await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), stop);
    } catch {
      // The turn has ended: nobody is waiting any more.
      return;
    }
  }
}

type LoopWork = Extract<LoopRequest, { readonly kind: "turn" | "compact" }>;

function unexpected(kind: string): TurnEnd {
  return { kind: "lost", problem: `loopd answered ${kind} to a turn; see docs/runbook.md#peer-unreadable` };
}

/** Runs one turn to its end. Never rejects for what loopd does. */
export async function runTurn(request: TurnRequest, options: TurnOptions): Promise<TurnEnd> {
  const end = await follow({ kind: "turn", body: request }, options);
  return end.kind === "ok" ? unexpected("ok") : end;
}

/** How the summing up of a conversation ended; `ok`: its next epoch has begun. */
export type CompactEnd = { readonly kind: "ok" } | Exclude<TurnEnd, { readonly kind: "done" }>;

/** Has a conversation summed up, with the events of that. Never rejects for what loopd does. */
export async function runCompact(session: SessionId, options: TurnOptions): Promise<CompactEnd> {
  const end = await follow({ kind: "compact", body: { session } }, options);
  if (end.kind !== "done") return end;
  return { kind: "lost", problem: "loopd answered turn_done where ok was due; see docs/runbook.md#peer-unreadable" };
}

async function follow(
  message: LoopWork,
  { socket, clock, onEvent, signal }: TurnOptions,
): Promise<TurnEnd | { readonly kind: "ok" }> {
  const over = new AbortController();
  const silent = new AbortController();
  let patience = clock.monotonic() + SILENCE_MS;
  const watching = watchSilence(clock, () => patience, silent, over.signal);
  try {
    const exchange = {
      requests: LoopRequest,
      answers: LoopAnswer,
      message,
      signal: AbortSignal.any([signal, silent.signal]),
    };
    for await (const { message: answer } of requestReply(socket, exchange)) {
      patience = clock.monotonic() + SILENCE_MS;
      switch (answer.kind) {
        case "turn_event":
          if (answer.body.event === "approval_pending") {
            patience += Math.max(0, millisFromTimestamp(answer.body.expires) - clock.now());
          }
          await onEvent(answer.body);
          break;
        case "turn_done":
          return { kind: "done", ...answer.body };
        case "error":
          return { kind: "refused", code: answer.body.code, detail: escapeText(answer.body.detail) };
        case "ok":
          return { kind: "ok" };
        case "session_list":
        case "rewind_point_report":
        case "session_started":
          return unexpected(answer.kind);
        default:
          answer satisfies never;
      }
    }
    return { kind: "lost", problem: "loopd ended the turn without an answer; see docs/runbook.md#peer-unreadable" };
  } catch (error) {
    // Whatever happened to the connection, the turn has no end that we know of, and the line says so.
    if (signal.aborted) return { kind: "left" };
    return { kind: "lost", problem: phraseExchangeError("loopd", socket, error) };
  } finally {
    over.abort();
    await watching;
  }
}
