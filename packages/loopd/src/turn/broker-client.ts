/** Tool calls through brokerd: one connection per call, one deadline for the whole of it, one line in the log where it fails. */
import type { Clock } from "@boxmaker/edge/log";
import { ExchangeError, type ExchangeFailure, requestReply } from "@boxmaker/edge/socket";
import { BrokerAnswer, BrokerRequest, MAX_ARGUMENTS, millisFromTimestamp, unreachable } from "@boxmaker/proto";
import { Watchdog } from "../clock/watchdog.ts";
import type { Pending, ToolEnd, ToolPort, ToolPortOptions, ToolPortRequest } from "./tool-port.ts";

/** What the model is told; the owner's log has the details. */
const SENTENCES = {
  away: "Failed: the tool broker is not available, so the call did not run.",
  lost: "Failed: the tool broker did not answer; whether the call ran is unknown.",
  unreadable: "Failed: the tool broker's answer could not be read; whether the call ran is unknown.",
  refused: "Failed: the tool broker did not take the call.",
  noFinal: "Failed: the tool broker gave no final answer.",
  tooLarge: "Failed: the arguments are too large.",
} as const;

/** Longer than this no approval is waited for, whatever brokerd says. */
const MAX_APPROVAL_MS = 24 * 3_600_000;

export interface BrokerClientDependencies {
  readonly socketPath: string;
  /** For the answer, and past the expiry of an approval. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** One line for the owner: which call failed, and why. */
  readonly onFailure: (request: ToolPortRequest, why: string) => void;
}

function sentenceOf(code: ExchangeFailure, sent: boolean): string {
  switch (code) {
    case "absent":
    case "refused":
      return SENTENCES.away;
    case "timeout":
      return sent ? SENTENCES.lost : SENTENCES.away;
    case "closed":
    case "truncated":
      return SENTENCES.lost;
    case "too_large":
    case "bad_frame":
    case "bad_version":
    case "bad_message":
    case "wrong_id":
      return SENTENCES.unreadable;
    default:
      return unreachable(code);
  }
}

/** The whole life of one call: its deadline moves once, when the owner is asked. */
class Call implements Disposable {
  readonly #dependencies: BrokerClientDependencies;
  readonly #options: ToolPortOptions;
  readonly #controller = new AbortController();
  readonly #cancel = (): void => {
    if (this.#pending) this.#giveUp();
  };
  #watchdog: Watchdog;
  #pending = false;
  cancelled = false;

  constructor(dependencies: BrokerClientDependencies, options: ToolPortOptions) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#watchdog = this.#watch(dependencies.timeoutMs);
    options.signal.addEventListener("abort", this.#cancel, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The owner is asked. False: brokerd has said so before, or has made it final. */
  onPending(pending: Pending, final: boolean): boolean {
    if (final || this.#pending) return false;
    this.#pending = true;
    const { clock, timeoutMs } = this.#dependencies;
    const left = Math.min(Math.max(0, millisFromTimestamp(pending.expires) - clock.now()), MAX_APPROVAL_MS);
    this.#watchdog[Symbol.dispose]();
    this.#watchdog = this.#watch(left + timeoutMs);
    if (this.#options.signal.aborted) this.#giveUp();
    else this.#options.onPending(pending);
    return true;
  }

  [Symbol.dispose](): void {
    this.#watchdog[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#cancel);
  }

  #watch(ms: number): Watchdog {
    return new Watchdog(this.#dependencies.clock, ms, () => this.#controller.abort());
  }

  #giveUp(): void {
    this.cancelled = true;
    this.#controller.abort();
  }
}

/** The port to a running brokerd. */
export class BrokerClient implements ToolPort {
  readonly #dependencies: BrokerClientDependencies;

  constructor(dependencies: BrokerClientDependencies) {
    this.#dependencies = dependencies;
  }

  async call(request: ToolPortRequest, options: ToolPortOptions): Promise<ToolEnd> {
    const fail = (sentence: string, why: string): ToolEnd => {
      this.#dependencies.onFailure(request, why);
      return { outcome: "failed", message: sentence };
    };
    const bytes = Buffer.byteLength(request.arguments);
    if (bytes > MAX_ARGUMENTS) return fail(SENTENCES.tooLarge, `${bytes} bytes of arguments, at most ${MAX_ARGUMENTS}`);
    using call = new Call(this.#dependencies, options);
    try {
      const exchange = requestReply(this.#dependencies.socketPath, {
        requests: BrokerRequest,
        answers: BrokerAnswer,
        message: BrokerRequest.parse({ kind: "tool_request", body: request }),
        signal: call.signal,
      });
      for await (const { final, message } of exchange) {
        switch (message.kind) {
          case "pending_approval":
            if (!call.onPending(message.body, final))
              return fail(SENTENCES.noFinal, "an approval was announced twice, or as the end");
            break;
          case "tool_response":
            return final ? message.body : fail(SENTENCES.noFinal, "a result that is not final");
          case "error":
            return fail(SENTENCES.refused, `${message.body.code}: ${message.body.detail}`);
          default:
            unreachable(message);
        }
      }
      return fail(SENTENCES.noFinal, "no final answer");
    } catch (error) {
      if (call.cancelled) return { outcome: "cancelled" };
      if (!(error instanceof ExchangeError)) throw error;
      return fail(sentenceOf(error.code, error.sent), `${error.code}: ${error.message}`);
    }
  }
}
