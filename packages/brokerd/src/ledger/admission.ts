/** What policy would let run or ask for, but brokerd can't take on now: it is stopping, the disk is filling up, or enough is waiting. */
import type { CallId, DenialReason, SessionId, ToolName } from "@boxmaker/proto";
import type { RateLimit } from "./rate-limit.ts";

/** Room for asks that wait. Reserved when an ask is recorded, so that two of the same moment can't both have the last place. */
export interface AskRoom {
  /** Whether one more ask of this turn of the session may wait. */
  hasRoom(session: SessionId, turn: CallId): boolean;
  /** @returns the function that gives the place back; more calls do nothing */
  reserve(session: SessionId): () => void;
}

export interface AdmissionOptions {
  readonly room: AskRoom;
  /** How many asks an owner is given. */
  readonly asks: RateLimit;
  /** How many sessions there may come to be. */
  readonly sessions: RateLimit;
  /** Whether the runtime can run such a call at all. */
  readonly canRun: (tool: ToolName) => boolean;
  /** Whether the log's disk is almost full. Never rejects. */
  readonly isLowOnSpace: () => Promise<boolean>;
}

/** Tools that change or send something: what they do isn't undone where the log can't follow. */
const SINKS: ReadonlySet<ToolName> = new Set(["write_file", "shell", "http_fetch"]);

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #stopping = new AbortController();
  #isLow = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Aborts when brokerd begins to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** From here on nothing is let run and nothing waits. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Looks at the disk; {@link Admission.refusal} goes by what it found. */
  async look(): Promise<void> {
    this.#isLow = await this.#options.isLowOnSpace();
  }

  /**
   * Why a call that policy has let through can't be taken on now. To be asked in the step that records it.
   *
   * @param turn the turn of a call that would ask; undefined for one that would run
   */
  refusal(session: SessionId, tool: ToolName, turn: CallId | undefined): DenialReason | undefined {
    if (this.#stopping.signal.aborted) return "shutting_down";
    if (this.#isLow && SINKS.has(tool)) return "low_space";
    // One that would run fails in the runtime, which says what to install; but nobody is to be asked for what can't be.
    if (turn !== undefined && !this.#options.canRun(tool)) return "no_sandbox";
    if (turn !== undefined && !(this.#options.room.hasRoom(session, turn) && this.#options.asks.isFree)) return "throttled";
    return undefined;
  }

  /** Whether a session that the log doesn't know may be opened now. */
  get mayOpen(): boolean {
    return this.#options.sessions.isFree;
  }

  /** A session is opened. */
  opened(): void {
    this.#options.sessions.take();
  }

  /** Takes a place for an ask. */
  reserve(session: SessionId): () => void {
    this.#options.asks.take();
    return this.#options.room.reserve(session);
  }
}
