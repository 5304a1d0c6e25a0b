/** What every kind of chat works with, and how it begins. */
import type { Clock } from "@boxmaker/edge/log";
import type { Places } from "../box/places.ts";
import type { ProcessIo } from "../process-io.ts";
import type { Interrupts } from "../terminal/interrupts.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Conversation } from "./conversation.ts";

export interface ChatContext {
  readonly conversation: Conversation;
  /** Whether the owner named no session: they are told its id. */
  readonly isNew: boolean;
  readonly places: Places;
  readonly clock: Clock;
  readonly interrupts: Interrupts;
  readonly io: ProcessIo;
  readonly out: Screen;
  readonly err: Screen;
  readonly json: boolean;
}

/** Says the id of a new session, once; to a script, of every one. */
export function announce({ conversation, isNew, json }: ChatContext, notes: Screen): void {
  const { session } = conversation;
  if (json) notes.raw(jsonLine({ kind: "session", body: { session } }));
  else if (isNew) notes.line(`session ${session}`);
}
