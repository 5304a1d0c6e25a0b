/** Makes sure that a slot whose last request was cut off is free: inside the server that request may go on for a while. */
import { unreachable } from "@boxmaker/proto";
import type { HeadWait } from "./head-wait.ts";
import { CompletionError } from "./model-error.ts";

/** A server looks once a second whether its client is still there, and one that doesn't show its slots is given a bit longer. */
const UNSEEN_MS = 1_500;
const FIRST_POLL_MS = 50;

/**
 * Waits until the server says that the slot is idle, saying `waiting` each time that it isn't.
 *
 * @returns why the slot can't be used; undefined when it can, or when the signal aborted first
 */
export async function waitForFreeSlot({
  server,
  clock,
  slot,
  limits,
  onEvent,
  signal,
}: HeadWait): Promise<CompletionError | undefined> {
  const started = clock.monotonic();
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 2, limits.pollMs)) {
    const state = await server.slotState(slot, signal);
    if (signal.aborted) return undefined;
    switch (state) {
      case "idle":
        return undefined;
      case "away":
        // Not free and not busy: whoever tries again asks again.
        return new CompletionError("loading", "the model server didn't say whether the slot is free");
      case "unknown":
        onEvent({ event: "waiting", slot_busy: false });
        await clock.sleep(UNSEEN_MS, signal).catch(() => undefined);
        return undefined;
      case "busy":
        break;
      default:
        return unreachable(state);
    }
    onEvent({ event: "waiting", slot_busy: true });
    if (clock.monotonic() - started >= limits.busyMs) {
      return new CompletionError("wait_timeout", "the slot was held by an earlier request for too long");
    }
    await clock.sleep(pollMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
  }
}
