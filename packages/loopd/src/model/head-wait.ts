/** Watches a llama-server whose reply hasn't begun: a queued request gets neither status nor head, so that only its slots tell. */
import type { Clock } from "@boxmaker/edge/log";
import type { OnModelEvent } from "./completion.ts";
import { CompletionError } from "./model-error.ts";
import type { ModelServer, SlotState } from "./model-server.ts";

/** How long each state of the server is waited out, in milliseconds. */
export interface HeadWaitLimits {
  readonly pollMs: number;
  readonly busyMs: number;
  readonly loadingMs: number;
  readonly idleMs: number;
}

export interface HeadWait {
  readonly server: ModelServer;
  readonly clock: Clock;
  readonly slot: number;
  readonly limits: HeadWaitLimits;
  readonly onEvent: OnModelEvent;
  /** Aborts when the head is there, or the request is over. */
  readonly signal: AbortSignal;
}

function limitOf(state: SlotState, limits: HeadWaitLimits): number {
  if (state === "busy") return limits.busyMs;
  return state === "away" ? limits.loadingMs : limits.idleMs;
}

function phrase(state: SlotState): string {
  if (state === "busy") return "the slot was held by another request for too long";
  return state === "away" ? "the model server didn't answer for too long" : "the slot was idle and no reply began";
}

/**
 * Looks at the request's own slot again and again. A state's clock starts anew whenever the state changes.
 *
 * @returns why to give up; undefined when the signal aborted first
 */
export async function waitForHead({
  server,
  clock,
  slot,
  limits,
  onEvent,
  signal,
}: HeadWait): Promise<CompletionError | undefined> {
  let state: SlotState | undefined;
  let since = 0;
  for (;;) {
    await clock.sleep(limits.pollMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
    const now = await server.slotState(slot, signal);
    if (signal.aborted) return undefined;
    if (now !== state) {
      state = now;
      since = clock.monotonic();
    }
    onEvent({ event: "waiting", slot_busy: state === "busy" });
    if (clock.monotonic() - since >= limitOf(state, limits)) return new CompletionError("wait_timeout", phrase(state));
  }
}

/** What is told while something is waited for that only its end says anything of. */
export type Telling = Pick<HeadWait, "clock" | "onEvent" | "signal"> & { readonly pollMs: number };

/** Waits for `work`, saying `waiting` each `pollMs` milliseconds until it has ended. */
export async function tellingOf<T>(work: Promise<T>, { clock, pollMs, onEvent, signal }: Telling): Promise<T> {
  const ended = new AbortController();
  const either = AbortSignal.any([ended.signal, signal]);
  const tell = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(pollMs, either);
      onEvent({ event: "waiting", slot_busy: false });
    }
  };
  tell().catch(() => {
    // The sleep was ended: there is nothing more to wait for.
  });
  try {
    return await work;
  } finally {
    ended.abort();
  }
}
