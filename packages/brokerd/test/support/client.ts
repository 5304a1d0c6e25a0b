/** A client that says exactly what a test wants, and reads what comes back frame by frame. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { connectUnix } from "@boxmaker/edge/socket";
import {
  AdminAnswer,
  AdminRequest,
  type AnyMessage,
  ApprovalAnswer,
  ApprovalRequest,
  BrokerAnswer,
  BrokerRequest,
  decodeMessage,
  type Envelope,
  encodeMessage,
  FrameDecoder,
} from "@boxmaker/proto";
import { z } from "zod";

const AnyAnswer = z.union([AdminAnswer, BrokerAnswer, ApprovalAnswer]);
export type AnyAnswer = z.infer<typeof AnyAnswer>;

export class Client implements Disposable {
  readonly socket: Socket;
  readonly #decoder = new FrameDecoder();
  readonly #answers: Envelope<AnyAnswer>[] = [];
  #ended = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#decoder.push(chunk);
      for (let step = this.#decoder.next(); step.kind === "frame"; step = this.#decoder.next()) {
        const decoded = decodeMessage<AnyAnswer>(AnyAnswer, step.body);
        if (decoded.kind !== "message") throw new Error(decoded.detail);
        this.#answers.push(decoded.envelope);
      }
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    socket.on("end", end);
    socket.on("close", end);
  }

  static async connect(path: string): Promise<Client> {
    return new Client(await connectUnix(path, { signal: AbortSignal.timeout(10_000) }));
  }

  /** Connects and sends one request. */
  static async request(path: string, message: AnyRequestSent): Promise<Client> {
    const client = await Client.connect(path);
    client.socket.write(frameOf(message));
    return client;
  }

  /** The next answer; undefined at the end of the connection. */
  async next(): Promise<Envelope<AnyAnswer> | undefined> {
    for (;;) {
      const answer = this.#answers.shift();
      if (answer !== undefined) return answer;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The final answer. */
  async final(): Promise<AnyAnswer> {
    for (;;) {
      const answer = await this.next();
      if (answer === undefined) throw new Error("the connection ended without a final answer");
      if (answer.final) return answer.message;
    }
  }

  async ended(): Promise<void> {
    if (!this.#ended) await once(this.socket, "close");
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

type AnyRequestSent = AdminRequest | ApprovalRequest | BrokerRequest;
const AnyRequestSent: z.ZodType<AnyRequestSent> = z.union([AdminRequest, ApprovalRequest, BrokerRequest]);

export function frameOf(message: AnyRequestSent, id = 7): Buffer {
  return encodeMessage<AnyMessage & AnyRequestSent>(AnyRequestSent, { id, final: true, message });
}

/** One request, its final answer. */
export async function ask(path: string, message: AnyRequestSent): Promise<AnyAnswer> {
  using client = await Client.request(path, message);
  return await client.final();
}
