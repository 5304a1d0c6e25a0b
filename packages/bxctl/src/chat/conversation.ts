/** A session as the owner talks with it: started or resumed as needed, turn by turn. */
import { randomBytes } from "node:crypto";
import { type SessionId, SessionId as SessionIdSchema } from "@boxmaker/proto";
import { runTurn, type TurnEnd, type TurnOptions } from "./run-turn.ts";

/** A new session's id: the day and time, to find it by, and 32 random bits. */
export function newSessionId(now: number): SessionId {
  const [day = "", time = ""] = new Date(now).toISOString().split(/[T.]/u);
  return SessionIdSchema.parse(`chat-${day.replaceAll("-", "")}-${time.replaceAll(":", "")}-${randomBytes(4).toString("hex")}`);
}

/** `new`: doesn't exist yet. `named`: may exist. `open`: a turn of it has been answered. */
type Standing = "new" | "named" | "open";

export class Conversation {
  readonly session: SessionId;
  #standing: Standing;

  private constructor(session: SessionId, standing: Standing) {
    this.session = session;
    this.#standing = standing;
  }

  /** A session of its own. */
  static start(now: number): Conversation {
    return new Conversation(newSessionId(now), "new");
  }

  /** The session of that id: resumed, or started where it doesn't exist. */
  static named(session: SessionId): Conversation {
    return new Conversation(session, "named");
  }

  /**
   * Runs one turn.
   *
   * A session that has been talked with and is gone isn't started again: that would be another conversation under its name.
   */
  async say(text: string, options: TurnOptions): Promise<TurnEnd> {
    const resume = this.#standing !== "new";
    let end = await runTurn({ session: this.session, resume, text }, options);
    if (this.#standing === "named" && end.kind === "refused" && end.code === "no_such_session") {
      end = await runTurn({ session: this.session, resume: false, text }, options);
    }
    if (end.kind === "done") this.#standing = "open";
    // A first turn that failed may have started the session or not.
    else if (this.#standing === "new" && !(end.kind === "refused" && end.code === "session_exists")) this.#standing = "named";
    return end;
  }
}
