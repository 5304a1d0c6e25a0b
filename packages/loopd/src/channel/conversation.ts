/** Finds or makes the session of a turn, and runs the turn on it. */
import type { Clock } from "@boxmaker/edge/log";
import { type ErrorCode, type LoopRequest, type Origin, type TurnEvent, unreachable } from "@boxmaker/proto";
import type { Config } from "../config/config.ts";
import { coreToolsText } from "../registry/registry.ts";
import { composeBaseline } from "../session/baseline.ts";
import type { Session } from "../session/session.ts";
import { SessionError } from "../session/session-error.ts";
import type { SessionStore } from "../session/session-store.ts";
import { type ModelPort, runTurn } from "../turn/run-turn.ts";
import type { ToolPort } from "../turn/tool-port.ts";
import type { TurnOutcome } from "../turn/turn-outcome.ts";

export type TurnBody = Extract<LoopRequest, { readonly kind: "turn" }>["body"];

export interface ConversationDependencies {
  readonly config: Config;
  readonly store: SessionStore;
  readonly model: ModelPort;
  readonly port: ToolPort;
  readonly clock: Clock;
}

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
    const { model, port, clock, config } = this.#dependencies;
    if (text.trim() === "") return { kind: "failed", code: "bad_message", detail: "the message is empty" };
    if (Buffer.byteLength(text) > config.limits.message_bytes) {
      return { kind: "failed", code: "limit", detail: `the message is longer than ${config.limits.message_bytes} bytes` };
    }
    try {
      const found = resume ? await this.#resume(id, origin) : await this.#create(id, origin);
      if ("kind" in found) return found;
      await using session = found;
      return await runTurn({ model, port, clock, limits: config.limits }, { session, text, emit, signal });
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return { kind: "failed", code: codeOf(error), detail: error.message };
    }
  }

  async #resume(id: TurnBody["session"], origin: Origin): Promise<Session> {
    const session = await this.#dependencies.store.open(id);
    if (sees(origin, session.start.origin)) return session;
    await session[Symbol.asyncDispose]();
    throw new SessionError("missing", "there is no such session");
  }

  async #create(id: TurnBody["session"], origin: Origin): Promise<Session | TurnOutcome> {
    const { store, config } = this.#dependencies;
    const { system, coreMemory, notesFolder } = config;
    const reading = await composeBaseline({ system, coreMemory, notesFolder, tools: coreToolsText() });
    if (reading.kind === "refused") return { kind: "failed", code: "internal", detail: reading.problem };
    return await store.create({ id, origin, slot: this.#chooseSlot(origin), baseline: reading.baseline });
  }

  /** The slots of an origin in turn, so that its sessions share them evenly. */
  #chooseSlot(origin: Origin): number | null {
    const { infer, slots } = this.#dependencies.config;
    if (infer.server === "openai") return null;
    const mine = origin === "gateway" ? slots.gateway : slots.terminal;
    return mine[this.#made++ % mine.length] ?? null;
  }
}
