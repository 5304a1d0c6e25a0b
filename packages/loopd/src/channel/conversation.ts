/** Finds or makes the session of a turn, and runs the turn on it. */
import type { Clock } from "@boxmaker/edge/log";
import { SessionError } from "@boxmaker/edge/session-files";
import {
  type Baseline,
  type ErrorCode,
  type LoopRequest,
  type Origin,
  type SessionId,
  type TurnEvent,
  unreachable,
} from "@boxmaker/proto";
import type { Config } from "../config/config.ts";
import { coreToolsText } from "../registry/registry.ts";
import { composeBaseline, type EarlierEpochs } from "../session/baseline.ts";
import type { Session } from "../session/session.ts";
import type { SessionStore } from "../session/session-store.ts";
import { beginEpoch, changeEpoch, type EpochPort, hasText } from "../turn/change-epoch.ts";
import { endTurn } from "../turn/end-turn.ts";
import type { ModelPort } from "../turn/model-port.ts";
import { runTurn } from "../turn/run-turn.ts";
import type { ToolPort } from "../turn/tool-port.ts";
import type { FailedTurn, TurnOutcome } from "../turn/turn-outcome.ts";

export type TurnBody = Extract<LoopRequest, { readonly kind: "turn" }>["body"];

export interface ConversationDependencies {
  readonly config: Config;
  readonly store: SessionStore;
  readonly model: ModelPort;
  readonly port: ToolPort;
  readonly clock: Clock;
  /** Told when the model wrote no summary and a turn goes on without: one printable line. Must not throw. */
  readonly onNoRoom: (session: SessionId, why: string) => void;
}

/** How a session's change to a new epoch ended. */
export type CompactOutcome = { readonly kind: "compacted" } | FailedTurn;

/** Whether a client of this origin may see a session of that one: the terminal's sees all, the others their own. */
export function sees(client: Origin, session: Origin): boolean {
  return client === "terminal" || client === session;
}

/** What a client is told about a session that can't be used. */
export function codeOf(error: SessionError): ErrorCode {
  switch (error.fault) {
    case "exists":
      return "session_exists";
    case "missing":
      return "no_such_session";
    case "damaged":
    case "unreadable":
    case "unwritable":
      return "internal";
    default:
      return unreachable(error.fault);
  }
}

/** The turns of all sessions, each on its own. */
export class Conversation {
  readonly #dependencies: ConversationDependencies;
  readonly #epochs: EpochPort = {
    begin: async (session) => {
      const { end, mayHaveMemory } = session;
      const reading = await this.#compose(end === undefined ? null : { summary: end.summary, mayHaveMemory });
      if (reading.kind === "failed") return reading;
      await this.#dependencies.store.beginEpoch(session, reading.baseline);
      return undefined;
    },
  };
  #made = 0;

  constructor(dependencies: ConversationDependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs a turn to its end. Rejects for bugs only. */
  async run(
    origin: Origin,
    { session: id, resume, text }: TurnBody,
    emit: (event: TurnEvent) => void,
    signal: AbortSignal,
  ): Promise<TurnOutcome> {
    const { model, port, clock, config, onNoRoom } = this.#dependencies;
    if (text.trim() === "") return { kind: "failed", code: "bad_message", detail: "the message is empty" };
    if (Buffer.byteLength(text) > config.limits.message_bytes) {
      return { kind: "failed", code: "limit", detail: `the message is longer than ${config.limits.message_bytes} bytes` };
    }
    return await this.#guard(async () => {
      const found = resume ? await this.#resume(id, origin, emit) : await this.#create(id, origin);
      if ("kind" in found) return found;
      await using session = found;
      const dependencies = { model, port, epochs: this.#epochs, clock, limits: config.limits, onNoRoom };
      return await runTurn(dependencies, { session, text, emit, signal });
    });
  }

  /** Has a session summed up, and begins its next epoch with that. Rejects for bugs only. */
  async compact(origin: Origin, id: SessionId, emit: (event: TurnEvent) => void, signal: AbortSignal): Promise<CompactOutcome> {
    const { model, config } = this.#dependencies;
    return await this.#guard(async (): Promise<CompactOutcome> => {
      const found = await this.#resume(id, origin, emit);
      if ("kind" in found) return found;
      await using session = found;
      await endTurn(session, "loopd ended in mid-turn", () => undefined);
      if (!hasText(session.records)) {
        return { kind: "failed", code: "no_such_turn", detail: "nothing was said since the conversation began or was summed up" };
      }
      const context = { model, session, maxBytes: config.limits.summary_bytes, emit, signal };
      const change = await changeEpoch(context, this.#epochs, "nothing");
      return change.kind === "failed" ? change : { kind: "compacted" };
    });
  }

  /** What a session's files do to a turn is how it fails. */
  async #guard<T>(work: () => Promise<T>): Promise<T | FailedTurn> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return { kind: "failed", code: codeOf(error), detail: error.message };
    }
  }

  /** Opens a session; one whose epoch had ended when loopd did goes on in the next one. */
  async #resume(id: SessionId, origin: Origin, emit: (event: TurnEvent) => void): Promise<Session | FailedTurn> {
    await using opened = new AsyncDisposableStack();
    const session = opened.use(await this.#dependencies.store.open(id));
    if (!sees(origin, session.start.origin)) throw new SessionError("missing", "there is no such session");
    if (session.end !== undefined) {
      const failure = await beginEpoch(this.#epochs, session, emit);
      if (failure !== undefined) return failure;
    }
    opened.move();
    return session;
  }

  async #create(id: SessionId, origin: Origin): Promise<Session | FailedTurn> {
    const reading = await this.#compose(null);
    if (reading.kind === "failed") return reading;
    return await this.#dependencies.store.create({ id, origin, slot: this.#chooseSlot(origin), baseline: reading.baseline });
  }

  /** The core memory is read here, so once per epoch. */
  async #compose(earlier: EarlierEpochs | null): Promise<{ readonly kind: "ok"; readonly baseline: Baseline } | FailedTurn> {
    const { system, coreMemory, notesFolder } = this.#dependencies.config;
    const reading = await composeBaseline({ system, coreMemory, notesFolder, tools: coreToolsText() }, earlier);
    return reading.kind === "ok" ? reading : { kind: "failed", code: "internal", detail: reading.problem };
  }

  /** The slots of an origin in turn, so that its sessions share them evenly. */
  #chooseSlot(origin: Origin): number | null {
    const { infer, slots } = this.#dependencies.config;
    if (infer.server === "openai") return null;
    const mine = origin === "gateway" ? slots.gateway : slots.terminal;
    return mine[this.#made++ % mine.length] ?? null;
  }
}
