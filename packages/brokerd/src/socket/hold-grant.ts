/** `allow`: a grant that lives as long as the connection that asked for it. */
import type { Clock } from "@boxmaker/edge/log";
import type { AdminAnswer, AdminRequest, ErrorCode, SessionGrantEnd } from "@boxmaker/proto";
import { unreachable } from "@boxmaker/proto";
import type { Events } from "../events.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { SESSION_GRANT_MS } from "../ledger/owner-acts.ts";
import type { HeldGrant } from "../ledger/session-grants.ts";
import type { Send } from "./serve-socket.ts";

export interface HoldGrantOptions {
  readonly ledger: Ledger;
  readonly events: Events;
  readonly clock: Clock;
  /** Aborts when brokerd ends. */
  readonly ending: AbortSignal;
}

function error(code: ErrorCode, detail: string): AdminAnswer {
  return { kind: "error", body: { code, detail } };
}

/** Gives the grant, says what it is, and holds it until it ends. */
export async function holdGrant(
  body: Extract<AdminRequest, { kind: "allow" }>["body"],
  options: HoldGrantOptions,
  send: Send<AdminAnswer>,
  gone: AbortSignal,
): Promise<void> {
  const { ledger, events } = options;
  const allowing = await ledger.owner.allow(body, gone);
  switch (allowing.kind) {
    case "given": {
      const { held, expires } = allowing;
      const { id } = held.loaded.grant;
      events.sessionGrant(body.session, id);
      const told = await send({ kind: "allowed", body: { grant: id, text: held.loaded.text, expires } }, false);
      if (told === "gone") held.end("closed");
      const reason = await whenEnded(held, options);
      events.sessionGrantEnded(id, reason);
      if (reason !== "closed") await send({ kind: "allow_ended", body: { grant: id, reason } }, true);
      return;
    }
    case "invalid":
      await send({ kind: "grants_report", body: { grants: 0, problems: allowing.problems } }, true);
      return;
    case "too_many":
      await send(error("limit", "the session has too many grants of its own; see docs/runbook.md#too-many-session-grants"), true);
      return;
    case "left":
      return;
    case "unrecorded":
      await send(
        error("internal", "the grant could not be recorded and isn't in force; see docs/runbook.md#audit-unavailable"),
        true,
      );
      return;
    default:
      unreachable(allowing);
  }
}

async function whenEnded({ ended, end }: HeldGrant, { clock, ending }: HoldGrantOptions): Promise<SessionGrantEnd> {
  const stop = (): void => end("stopped");
  if (ending.aborted) stop();
  ending.addEventListener("abort", stop, { once: true });
  const over = new AbortController();
  clock.sleep(SESSION_GRANT_MS, over.signal).then(
    () => end("expired"),
    // It has ended before.
    () => undefined,
  );
  try {
    return await ended;
  } finally {
    over.abort();
    ending.removeEventListener("abort", stop);
  }
}
