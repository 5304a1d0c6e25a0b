/** Approving and refusing: what brokerd is asked, and what its answers mean for the owner. */
import { type ApprovalId, type Hash32, unreachable } from "@boxmaker/proto";
import { type AdminReply, askAdmin } from "../box/ask-admin.ts";
import type { Places } from "../box/places.ts";
import { phraseDenial } from "./denial-phrase.ts";
import type { ShownAsk } from "./describe-ask.ts";

/** What an answer came to. Each `line` is printable. `changed`: nothing ran, and the call waits to be looked at again. */
export type Answered =
  | { readonly kind: "runs"; readonly line: string }
  | { readonly kind: "refused"; readonly line: string }
  | { readonly kind: "changed"; readonly line: string }
  | { readonly kind: "failed"; readonly line: string };

/** Fetches the whole of a waiting call from brokerd. */
export function fetchAsk(socket: string, approval: ApprovalId): Promise<AdminReply<"approval_block">> {
  return askAdmin(socket, { kind: "approval", body: { approval } }, "approval_block");
}

/** Approves what was shown under `digest`, and nothing else. */
export async function approveAsk(socket: string, approval: ApprovalId, digest: Hash32): Promise<Answered> {
  const reply = await askAdmin(socket, { kind: "approve", body: { approval, digest } }, "approve_result");
  if (reply.kind !== "answer") return { kind: "failed", line: `approval ${approval}: ${reply.problem}` };
  const { body } = reply;
  switch (body.outcome) {
    case "allowed":
    case "ask":
      return { kind: "runs", line: `approval ${approval}: approved, it runs` };
    case "denied":
      return { kind: "failed", line: `approval ${approval}: approved, but denied now: ${phraseDenial(body.reason)}` };
    case "changed":
      return {
        kind: "changed",
        line: `approval ${approval}: not approved: what would run now is not what was shown; nothing ran; see docs/runbook.md#approval-changed`,
      };
    default:
      return unreachable(body);
  }
}

/** Refuses a waiting call. */
export async function refuseAsk(socket: string, approval: ApprovalId, reason: string | null): Promise<Answered> {
  const reply = await askAdmin(socket, { kind: "refuse", body: { approval, reason } }, "ok");
  if (reply.kind !== "answer") return { kind: "failed", line: `approval ${approval}: ${reply.problem}` };
  return { kind: "refused", line: `approval ${approval}: refused, it doesn't run` };
}

/** How a waiting call can be answered from another terminal, with {@link Places.adminFlags}: what stands there can be pasted. */
export function phraseElsewhere({ ask, digest }: ShownAsk, { adminFlags }: Pick<Places, "adminFlags">): string {
  const { approval } = ask;
  return `answer with: bxctl approve ${approval} --digest ${digest}${adminFlags}, or: bxctl refuse ${approval}${adminFlags}`;
}
