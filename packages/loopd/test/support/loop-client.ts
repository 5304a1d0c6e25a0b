/** A client of loop.sock, as tests use it. */
import { requestFinal, requestReply } from "@boxmaker/edge/socket";
import { LoopAnswer, LoopRequest, type TurnEvent } from "@boxmaker/proto";

const DEADLINE_MS = 30_000;

/** The end of a turn, and the events before it. */
export interface TurnReport {
  readonly events: readonly TurnEvent[];
  readonly end: LoopAnswer;
}

export interface TurnOptions {
  readonly resume?: boolean;
  readonly onEvent?: (event: TurnEvent) => void;
  readonly signal?: AbortSignal;
  /** Default: 30 seconds. */
  readonly deadlineMs?: number;
}

export class LoopClient {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** Sends one request that isn't a turn. */
  async ask(kind: string, body: object): Promise<LoopAnswer> {
    const message = LoopRequest.parse({ kind, body });
    return await requestFinal(this.#socket, {
      requests: LoopRequest,
      answers: LoopAnswer,
      message,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  }

  async turn(session: string, text: string, options: TurnOptions = {}): Promise<TurnReport> {
    return await this.#follow({ kind: "turn", body: { session, resume: options.resume ?? false, text } }, options);
  }

  async compact(session: string, options: TurnOptions = {}): Promise<TurnReport> {
    return await this.#follow({ kind: "compact", body: { session } }, options);
  }

  async #follow(request: object, options: TurnOptions): Promise<TurnReport> {
    const message = LoopRequest.parse(request);
    const deadline = AbortSignal.timeout(options.deadlineMs ?? DEADLINE_MS);
    const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
    const events: TurnEvent[] = [];
    const answers = requestReply(this.#socket, { requests: LoopRequest, answers: LoopAnswer, message, signal });
    for await (const { final, message: answer } of answers) {
      if (final) return { events, end: answer };
      if (answer.kind !== "turn_event") throw new Error(`expected a turn event, got ${answer.kind}`);
      events.push(answer.body);
      options.onEvent?.(answer.body);
    }
    throw new Error("no final answer");
  }
}

/** The answer's text, of a turn that was answered. */
export function contentOf({ end }: TurnReport): string {
  if (end.kind !== "turn_done") throw new Error(`expected turn_done, got ${JSON.stringify(end)}`);
  return end.body.content;
}

/** A message's content as the model got it, which in these tests is text. */
export function told(message: { readonly content?: unknown } | undefined): string {
  return typeof message?.content === "string" ? message.content : "";
}

/** The code of a turn that failed. */
export function codeOf({ end }: TurnReport): string {
  if (end.kind !== "error") throw new Error(`expected error, got ${JSON.stringify(end)}`);
  return end.body.code;
}

/** Everything the model said, as it was streamed. */
export function textOf({ events }: TurnReport): string {
  return events.map((event) => (event.event === "text" ? event.text : "")).join("");
}

/** The names of the events, without those whose number depends on how pieces arrive. */
export function namesOf({ events }: TurnReport): readonly string[] {
  return events.map(({ event }) => event).filter((name) => !["text", "reasoning", "progress", "waiting"].includes(name));
}
