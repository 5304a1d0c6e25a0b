/** `bxctl chat --say TEXT`: one turn, the answer alone on standard output. It never asks. */
import type { TurnEvent } from "@boxmaker/proto";
import { fetchAsk, phraseElsewhere } from "../approvals/answer-ask.ts";
import { showAsk } from "../approvals/describe-ask.ts";
import type { ExitStatus } from "../process-io.ts";
import { announce, type ChatContext } from "./chat-context.ts";
import { JsonView } from "./json-view.ts";
import { takeTurn } from "./take-turn.ts";
import { ScreenView, type TurnView } from "./turn-view.ts";

/** Shows a waiting call whole, and where it can be answered. */
async function showWaiting(
  { places, err, clock }: ChatContext,
  event: Extract<TurnEvent, { event: "approval_pending" }>,
): Promise<void> {
  const { approval } = event;
  const block = await fetchAsk(places.adminSocket, approval);
  if (block.kind !== "answer") {
    err.line(`approval ${approval}: it can't be shown here: ${block.problem}`);
    return;
  }
  showAsk(err, block.body, clock.now());
  err.line(`waiting; ${phraseElsewhere(block.body, places)}`);
}

/** Returns 1 where the turn has no answer. */
export async function sayOnce(text: string, context: ChatContext): Promise<ExitStatus> {
  const { conversation, places, clock, interrupts, out, err, json } = context;
  let announced = false;
  const announceOnce = (): void => {
    if (!announced) announce(context, err);
    announced = true;
  };
  const view: TurnView = json ? new JsonView(err, out) : new ScreenView({ events: err, answers: out, text: "final" });
  const end = await takeTurn(conversation, text, {
    socket: places.loopSocket,
    clock,
    interrupts,
    notes: err,
    onCancel: () => undefined,
    onEvent: async (event) => {
      announceOnce();
      view.event(event);
      if (event.event === "approval_pending" && !json) await showWaiting(context, event);
    },
  });
  // A session that loopd never heard of has no id worth saying.
  if (end.kind === "done" || end.kind === "refused") announceOnce();
  view.end(end);
  return end.kind === "done" ? 0 : 1;
}
