/** `bxctl approvals`, `approve` and `refuse`. */

import { systemClock } from "@boxmaker/edge/log";
import { Hash32, parseApprovalId, quoteText, unreachable } from "@boxmaker/proto";
import { askAdmin } from "../box/ask-admin.ts";
import type { Places } from "../box/places.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Answered, approveAsk, fetchAsk, phraseElsewhere, refuseAsk } from "./answer-ask.ts";
import { type ShownAsk, showAsk } from "./describe-ask.ts";

/** Where a command reads and writes. */
export interface ApprovalCommand {
  readonly socket: string;
  readonly out: Screen;
  readonly err: Screen;
}

const MAX_REASON = 1000;

/** Every call that waits, whole. One that is answered while the list is being read is left out. */
export async function listApprovals(
  { socket, out, err }: ApprovalCommand,
  json: boolean,
  places: Pick<Places, "adminFlags">,
): Promise<ExitStatus> {
  const list = await askAdmin(socket, { kind: "approvals", body: {} }, "approval_list");
  if (list.kind !== "answer") {
    err.line(`bxctl: ${list.problem}`);
    return 1;
  }
  const shown: ShownAsk[] = [];
  for (const { approval } of list.body.approvals) {
    const block = await fetchAsk(socket, approval);
    if (block.kind === "answer") shown.push(block.body);
    else if (block.kind === "failed" || block.code !== "no_such_approval") {
      err.line(`bxctl: approval ${approval}: ${block.problem}`);
      return 1;
    }
  }
  if (json) {
    out.raw(jsonLine(shown));
    return 0;
  }
  if (shown.length === 0) out.line("no call waits for an approval");
  for (const block of shown) {
    showAsk(out, block, systemClock.now());
    out.line(`  ${phraseElsewhere(block, places)}`);
  }
  return 0;
}

function finish({ out, err }: ApprovalCommand, answered: Answered): ExitStatus {
  switch (answered.kind) {
    case "runs":
    case "refused":
      out.line(answered.line);
      return 0;
    case "changed":
    case "failed":
      err.line(`bxctl: ${answered.line}`);
      return 1;
    default:
      return unreachable(answered);
  }
}

function usage(command: ApprovalCommand, problem: string): ExitStatus {
  command.err.line(`bxctl: ${problem}`);
  return 2;
}

function badId(text: string): string {
  return `${quoteText(text)} is no approval id: expected a number as bxctl approvals shows it`;
}

/**
 * Shows the call as it is now and approves that.
 *
 * @param digestText approve only if this is still its digest
 */
export async function approveCommand(command: ApprovalCommand, id: string, digestText: string | undefined): Promise<ExitStatus> {
  const { socket, out, err } = command;
  const approval = parseApprovalId(id);
  if (approval === undefined) return usage(command, badId(id));
  const digest = digestText === undefined ? undefined : Hash32.safeParse(digestText);
  if (digest?.success === false)
    return usage(command, `${quoteText(digestText ?? "")} is no digest: expected 64 lower-case hex digits`);
  const block = await fetchAsk(socket, approval);
  if (block.kind !== "answer") {
    err.line(`bxctl: approval ${approval}: ${block.problem}`);
    return 1;
  }
  showAsk(out, block.body, systemClock.now());
  const answered = await approveAsk(socket, approval, digest?.data ?? block.body.digest);
  const status = finish(command, answered);
  if (answered.kind === "changed" && digest === undefined) await showChanged(command, approval);
  return status;
}

async function showChanged({ socket, out }: ApprovalCommand, approval: ShownAsk["ask"]["approval"]): Promise<void> {
  const now = await fetchAsk(socket, approval);
  // Without an answer there is nothing to show; that it changed has been said.
  if (now.kind !== "answer") return;
  out.line("it would now be:");
  showAsk(out, now.body, systemClock.now());
}

/** Refuses a call; the reason is recorded. */
export async function refuseCommand(command: ApprovalCommand, id: string, reason: string | undefined): Promise<ExitStatus> {
  const approval = parseApprovalId(id);
  if (approval === undefined) return usage(command, badId(id));
  if (reason !== undefined && reason.length > MAX_REASON)
    return usage(command, `the reason is longer than ${MAX_REASON} characters`);
  return finish(command, await refuseAsk(command.socket, approval, reason ?? null));
}
