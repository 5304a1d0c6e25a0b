/** `bxctl chat`: which kind of chat it is, and what it needs. */
import { systemClock } from "@boxmaker/edge/log";
import { quoteText, SessionId } from "@boxmaker/proto";
import type { Places } from "../box/places.ts";
import type { ExitStatus, ProcessIo } from "../process-io.ts";
import { Interrupts } from "../terminal/interrupts.ts";
import { Screen } from "../terminal/screen.ts";
import type { ChatContext } from "./chat-context.ts";
import { Conversation } from "./conversation.ts";
import { isSendable, MAX_TEXT_BYTES } from "./message-text.ts";

export interface ChatFlags {
  readonly session: string | undefined;
  readonly say: string | undefined;
  readonly json: boolean;
}

/** Holds the conversation that the flags ask for. */
export async function chat(flags: ChatFlags, places: Places, io: ProcessIo): Promise<ExitStatus> {
  const out = new Screen(io.stdout, io.env);
  const err = new Screen(io.stderr, io.env);
  const named = flags.session === undefined ? undefined : SessionId.safeParse(flags.session);
  if (named?.success === false) {
    err.line(`bxctl: ${quoteText(flags.session ?? "")} is no session id: expected lower-case letters, digits and "-", at most 64`);
    return 2;
  }
  if (flags.say !== undefined && !isSendable(flags.say)) {
    err.line(`bxctl: expected --say with a text of 1 to ${MAX_TEXT_BYTES} bytes`);
    return 2;
  }
  const conversation = named === undefined ? Conversation.start(systemClock.now()) : Conversation.named(named.data);
  const interrupts = new Interrupts();
  using _signals = io.onInterrupt(() => interrupts.raise());
  const context: ChatContext = {
    conversation,
    places,
    clock: systemClock,
    interrupts,
    io,
    out,
    err,
    json: flags.json,
    isNew: named === undefined,
  };
  if (flags.say !== undefined) {
    const { sayOnce } = await import("./say-once.ts");
    return await sayOnce(flags.say, context);
  }
  const { chatInTurns } = await import("./chat-in-turns.ts");
  return await chatInTurns(context);
}
