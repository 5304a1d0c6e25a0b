/** `bxctl approvals`, `approve` and `refuse`. */

import { join } from "node:path";
import { systemClock } from "@boxmaker/edge/log";
import { escapeText, Hash32, millisFromTimestamp, parseApprovalId, quoteText, unreachable } from "@boxmaker/proto";
import { askAdmin } from "../box/ask-admin.ts";
import type { Places } from "../box/places.ts";
import type { GrantsCommand } from "../grants/grants-command.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Answered, approveAsk, fetchAsk, phraseElsewhere, refuseAsk } from "./answer-ask.ts";
import type { Confirm } from "./confirm-approval.ts";
import { type ShownAsk, showAsk } from "./describe-ask.ts";
import { type GrantFlags, type GrantLimits, readLimits } from "./grant-limits.ts";
import type { Plan, PlannedGrant } from "./plan-grant.ts";

/** Where a command reads and writes. */
export interface ApprovalCommand {
  readonly socket: string;
  readonly out: Screen;
  readonly err: Screen;
}

const MAX_REASON = 1000;
/** The longest that a timer can wait. */
const MAX_WAIT_MS = 2 ** 31 - 1;

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

/** How a call is approved. `digest`: only if this is still its digest. `uses`, `expires`: with a grant for the very same call. */
export interface ApproveFlags extends GrantFlags {
  readonly digest?: string | undefined;
}

/**
 * Shows the call as it is now and, where it is agreed to, approves that; with limits, shows and writes the grant for it, too. What names
 * its digest has been seen and isn't asked about. For a script, one line of JSON says afterwards what was approved, and the grant that
 * was written.
 *
 * @param confirm undefined where nobody can be asked: the digest is needed then
 */
export async function approveCommand(
  command: GrantsCommand,
  id: string,
  flags: ApproveFlags,
  confirm: Confirm | undefined,
): Promise<ExitStatus> {
  const { places, out, err, json } = command;
  const socket = places.adminSocket;
  const at: ApprovalCommand = { socket, out, err };
  const approval = parseApprovalId(id);
  if (approval === undefined) return usage(at, badId(id));
  const digest = flags.digest === undefined ? undefined : Hash32.safeParse(flags.digest);
  if (digest?.success === false)
    return usage(at, `${quoteText(flags.digest ?? "")} is no digest: expected 64 lower-case hex digits`);
  // With --json nothing is shown before it is approved.
  if (json && digest === undefined)
    return usage(at, "--json needs --digest: what is approved has to have been seen, as by bxctl approvals");
  if (digest === undefined && confirm === undefined)
    return usage(at, "nobody can be asked here, where no terminal is: give --digest, as bxctl approvals shows it with the call");
  const limits = readLimits(flags);
  if (limits.kind === "usage") return usage(at, limits.problem);
  const block = await fetchAsk(socket, approval);
  if (block.kind !== "answer") {
    err.line(`bxctl: approval ${approval}: ${block.problem}`);
    return 1;
  }
  if (!json) showAsk(out, block.body, systemClock.now());
  const planned = limits.value === undefined ? undefined : await plan(command, block.body, limits.value);
  if (planned?.kind === "ended") return planned.status;
  if (planned !== undefined && !json) showGrant(out, planned.grant);
  if (digest === undefined && !(await isAgreed(block.body, confirm))) {
    err.line(`bxctl: approval ${approval}: not approved, nothing ran; it waits until it expires`);
    return 1;
  }
  const answered = await approveAsk(socket, approval, digest?.data ?? block.body.digest);
  const isRun = answered.kind === "runs";
  let status = json && isRun ? 0 : finish(at, answered);
  if (answered.kind === "changed" && digest === undefined && !json) await showChanged(at, approval);
  if (planned !== undefined && isRun) status = await write(command, planned.grant);
  if (json) {
    const grant =
      planned === undefined ? null : { file: join(planned.grant.directory, planned.grant.file), text: planned.grant.text };
    out.raw(jsonLine({ ...block.body, answer: answered.kind, grant: status === 0 ? grant : null }));
  }
  return status;
}

/** Asks until the call expires. Nobody who could be asked is nobody who agrees. */
async function isAgreed({ ask, expires }: ShownAsk, confirm: Confirm | undefined): Promise<boolean> {
  if (confirm === undefined) return false;
  const left = Math.max(0, millisFromTimestamp(expires) - systemClock.now());
  return await confirm(`let ${ask.request.tool} run? y/N: `, AbortSignal.timeout(Math.min(left, MAX_WAIT_MS)));
}

/** Loaded only now: an approval without a grant is to be quick. */
async function plan(command: GrantsCommand, { ask }: ShownAsk, limits: GrantLimits): Promise<Plan> {
  const { planGrant } = await import("./plan-grant.ts");
  return await planGrant(command, ask, limits);
}

function showGrant(out: Screen, { directory, file, text }: PlannedGrant): void {
  out.line(`with the grant ${quoteText(join(directory, file))}:`);
  for (const line of text.trimEnd().split("\n")) out.line(escapeText(line), { first: "  | ", rest: "  | " });
}

async function write({ out, err, json }: GrantsCommand, { directory, file, text }: PlannedGrant): Promise<ExitStatus> {
  const { writeGrant } = await import("./write-grant.ts");
  const written = await writeGrant(directory, file, text);
  if (written.kind === "written") {
    if (!json) out.line(`written: ${quoteText(written.path)}; take the file away, and it is over`);
    return 0;
  }
  const path = quoteText(join(directory, file));
  err.line(
    `bxctl: it runs, but the grant ${path} couldn't be written (${written.code}); see docs/runbook.md#exact-grant-unwritten`,
  );
  return 1;
}

async function showChanged({ socket, out }: ApprovalCommand, approval: ShownAsk["ask"]["approval"]): Promise<void> {
  const now = await fetchAsk(socket, approval);
  // Without an answer there is nothing to show; that it changed has been said.
  if (now.kind !== "answer") return;
  out.line("it would now be:");
  showAsk(out, now.body, systemClock.now());
}

/** Refuses a call; the reason is recorded. With `json`, one line says what came of it. */
export async function refuseCommand(
  command: ApprovalCommand,
  id: string,
  reason: string | undefined,
  json: boolean,
): Promise<ExitStatus> {
  const approval = parseApprovalId(id);
  if (approval === undefined) return usage(command, badId(id));
  if (reason !== undefined && reason.length > MAX_REASON)
    return usage(command, `the reason is longer than ${MAX_REASON} characters`);
  const answered = await refuseAsk(command.socket, approval, reason ?? null);
  const isRefused = answered.kind === "refused";
  if (json) command.out.raw(jsonLine({ approval, answer: answered.kind, reason: reason ?? null }));
  return json && isRefused ? 0 : finish(command, answered);
}
