/** What to tell the owner when a peer gave no final answer. */
import { ExchangeError } from "@boxmaker/edge/socket";
import { escapeText, quoteText, unreachable } from "@boxmaker/proto";

/** The roles that bxctl talks to, with what each has its own runbook entry for. */
export type Peer = "brokerd" | "loopd";

/** Where to look. Each is written out, so that it can be searched for. */
function pointerFor(peer: Peer): string {
  return peer === "brokerd" ? "see docs/runbook.md#brokerd-away" : "see docs/runbook.md#loopd-away";
}

/**
 * One printable line that says why there is no answer, whether the peer may have acted, and where to look.
 *
 * @throws what it was given, unless that is an ExchangeError: anything else is a bug
 */
export function phraseExchangeError(peer: Peer, socket: string, error: unknown): string {
  if (!(error instanceof ExchangeError)) throw error;
  const where = `socket ${quoteText(socket)}`;
  const unknown = error.sent ? "; whether it acted is unknown" : "";
  switch (error.code) {
    case "absent":
      return `${peer} isn't running: there is no ${where}; ${pointerFor(peer)}`;
    case "refused":
      return `${peer} isn't running, or isn't for this user: ${where} takes no connection; ${pointerFor(peer)}`;
    case "timeout":
      return `${peer} didn't answer in time on ${where}${unknown}; ${pointerFor(peer)}`;
    case "closed":
    case "truncated":
      return `${peer} closed the connection on ${where} before it had answered${unknown}; ${pointerFor(peer)}`;
    case "too_large":
    case "bad_frame":
    case "bad_version":
    case "bad_message":
    case "wrong_id":
      return `${peer} sent what this bxctl can't read (${escapeText(error.message)})${unknown}; see docs/runbook.md#peer-unreadable`;
    default:
      return unreachable(error.code);
  }
}
