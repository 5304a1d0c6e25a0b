/** Asking the owner about one waiting call in the middle of a chat. */
import type { Clock } from "@boxmaker/edge/log";
import { type ApprovalId, unreachable } from "@boxmaker/proto";
import { type Answered, approveAsk, fetchAsk, refuseAsk } from "../approvals/answer-ask.ts";
import { type ShownAsk, showAsk } from "../approvals/describe-ask.ts";
import type { Line, LineReader } from "../terminal/line-reader.ts";
import type { Screen } from "../terminal/screen.ts";

export interface DialogueOptions {
  /** admin.sock. */
  readonly socket: string;
  readonly screen: Screen;
  readonly lines: LineReader;
  readonly clock: Clock;
}

/**
 * Shows the whole call as brokerd has it and asks for its id; anything else, the end of input included, refuses. A call that
 * changed meanwhile is shown and asked about again.
 *
 * @param settled aborts when the call has been answered elsewhere, has expired, or is no longer waited for
 */
export async function askOwner(approval: ApprovalId, options: DialogueOptions, settled: AbortSignal): Promise<void> {
  const { socket, screen, clock } = options;
  for (;;) {
    const block = await fetchAsk(socket, approval);
    if (block.kind !== "answer") {
      if (!settled.aborted) screen.line(`approval ${approval}: it can't be shown and can't be answered here: ${block.problem}`);
      return;
    }
    if (settled.aborted) return;
    showAsk(screen, block.body, clock.now());
    const line = await readAnswer(block.body, options, settled);
    if (line.kind === "withdrawn") {
      screen.line(`approval ${approval}: no longer waiting here: answered elsewhere, expired, or its turn has ended`);
      return;
    }
    const answered = await answer(block.body, line, socket);
    screen.line(answered.line);
    if (answered.kind !== "changed") return;
  }
}

async function readAnswer({ ask }: ShownAsk, { screen, lines }: DialogueOptions, settled: AbortSignal): Promise<Line> {
  // The whole call is on the screen now: what was typed before is no answer to it.
  if (await lines.discardTyped()) screen.line("what was typed before this question is not taken as its answer");
  const prompt = `type ${ask.approval} to approve ${ask.request.tool}, anything else refuses: `;
  return await lines.ask(screen.style.bold(prompt), { signal: settled, remember: false });
}

function answer({ ask, digest }: ShownAsk, line: Exclude<Line, { kind: "withdrawn" }>, socket: string): Promise<Answered> {
  switch (line.kind) {
    case "end":
      return refuseAsk(socket, ask.approval, null);
    case "line":
      return line.text === String(ask.approval) ? approveAsk(socket, ask.approval, digest) : refuseAsk(socket, ask.approval, null);
    default:
      return unreachable(line);
  }
}
