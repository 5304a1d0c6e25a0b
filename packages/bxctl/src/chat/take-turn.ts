/** One turn of a chat, with Ctrl-C: once cancels it, twice leaves. */
import type { Clock } from "@boxmaker/edge/log";
import type { SessionId, TurnEvent } from "@boxmaker/proto";
import { askCancel } from "../box/ask-loop.ts";
import type { Interrupts } from "../terminal/interrupts.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Conversation } from "./conversation.ts";
import { type CompactEnd, runCompact, type TurnEnd, type TurnOptions } from "./run-turn.ts";

export interface TurnTaking {
  /** loop.sock. */
  readonly socket: string;
  readonly clock: Clock;
  readonly interrupts: Interrupts;
  /** Where it is said that a turn is being cancelled. */
  readonly notes: Screen;
  readonly onEvent: (event: TurnEvent) => Promise<void>;
  /** Called on the first Ctrl-C, before loopd is asked to cancel. */
  readonly onCancel: () => void;
}

async function cancellable<End extends { readonly kind: string }>(
  session: SessionId,
  taking: TurnTaking,
  run: (options: TurnOptions) => Promise<End>,
): Promise<End> {
  const { socket, clock, interrupts, notes, onEvent, onCancel } = taking;
  const leave = new AbortController();
  let cancelling: Promise<void> | undefined;
  const cancel = async (): Promise<void> => {
    const problem = await askCancel(socket, session);
    if (problem !== undefined && !leave.signal.aborted) notes.line(`the turn couldn't be cancelled: ${problem}`);
  };
  using _listening = interrupts.listen(() => {
    if (cancelling !== undefined) {
      leave.abort();
      return;
    }
    onCancel();
    notes.line("cancelling the turn; Ctrl-C again leaves");
    cancelling = cancel();
  });
  const end = await run({ socket, clock, onEvent, signal: leave.signal });
  if (end.kind !== "left") await cancelling;
  return end;
}

/** Runs one turn. Its end is returned and not shown. */
export async function takeTurn(conversation: Conversation, text: string, taking: TurnTaking): Promise<TurnEnd> {
  return await cancellable(conversation.session, taking, (options) => conversation.say(text, options));
}

/** Has the conversation summed up, with Ctrl-C as for a turn. */
export async function takeCompact({ session }: Conversation, taking: TurnTaking): Promise<CompactEnd> {
  return await cancellable(session, taking, (options) => runCompact(session, options));
}
