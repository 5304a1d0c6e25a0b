/** A peer that does what a test says: one request a connection, answered with exact frames, or with anything else. */
import { mkdir } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import {
  AdminAnswer,
  AdminRequest,
  type AnyMessage,
  ApprovalId,
  decodeMessage,
  encodeMessage,
  FrameDecoder,
  LoopAnswer,
  LoopRequest,
  type TurnEvent,
} from "@boxmaker/proto";
import { EXPIRES } from "./asks.ts";

type Schema<M extends AnyMessage> = Parameters<typeof encodeMessage<M>>[0];

export class Connection<A extends AnyMessage> {
  readonly #socket: Socket;
  readonly #answers: Schema<A>;
  readonly #id: number;
  readonly closed: Promise<void>;

  constructor(socket: Socket, answers: Schema<A>, id: number) {
    this.#socket = socket;
    this.#answers = answers;
    this.#id = id;
    this.closed = new Promise((resolve) => {
      socket.once("close", () => resolve());
    });
  }

  send(message: A, final: boolean): void {
    this.bytes(encodeMessage(this.#answers, { id: this.#id, final, message }));
  }

  bytes(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Ends the connection, final answer or not. */
  end(): void {
    this.#socket.end();
  }
}

export class ScriptedServer<R extends AnyMessage> implements AsyncDisposable {
  readonly path: string;
  readonly requests: R[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #wake: (() => void) | undefined;

  private constructor(path: string, server: Server) {
    this.path = path;
    this.#server = server;
  }

  static async listen<R extends AnyMessage, A extends AnyMessage>(
    path: string,
    requests: Schema<R>,
    answers: Schema<A>,
    handle: (request: R, connection: Connection<A>) => unknown,
  ): Promise<ScriptedServer<R>> {
    const server = createServer();
    const scripted = new ScriptedServer<R>(path, server);
    server.on("connection", (socket) => {
      const decoder = new FrameDecoder();
      scripted.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => scripted.#sockets.delete(socket));
      socket.on("data", (chunk: Buffer) => {
        decoder.push(chunk);
        const step = decoder.next();
        if (step.kind !== "frame") return;
        const decoded = decodeMessage(requests, step.body);
        if (decoded.kind !== "message") throw new Error(`the program sent an unreadable request: ${decoded.detail}`);
        const { message, id } = decoded.envelope;
        scripted.requests.push(message);
        scripted.#wake?.();
        handle(message, new Connection(socket, answers, id));
      });
    });
    await mkdir(dirname(path), { recursive: true });
    await new Promise<void>((resolve) => {
      server.listen(path, resolve);
    });
    return scripted;
  }

  /** Waits until a request of this kind has come. */
  async received(kind: R["kind"]): Promise<R> {
    for (;;) {
      const found = this.requests.find((request) => request.kind === kind);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

export type LoopConnection = Connection<LoopAnswer>;
export type LoopServer = ScriptedServer<LoopRequest>;
export type AdminServer = ScriptedServer<AdminRequest>;

export const USAGE = { prompt: 10, completion: 5, cached: null };

export function sendEvent(connection: LoopConnection, event: TurnEvent): void {
  connection.send({ kind: "turn_event", body: event }, false);
}

/** A shell call that waits for approval 41. */
export function sendAsk(connection: LoopConnection): void {
  sendEvent(connection, { event: "tool_call", tool: "shell" });
  sendEvent(connection, { event: "approval_pending", approval: ApprovalId.parse(41), tool: "shell", expires: EXPIRES });
}

export function sendDone(connection: LoopConnection, content: string): void {
  connection.send({ kind: "turn_done", body: { content, usage: USAGE } }, true);
}

/** A loopd; `sessions` and `cancel` are answered as a healthy one would. */
export function listenLoop(
  path: string,
  onTurn: (turn: Extract<LoopRequest, { kind: "turn" }>["body"], connection: LoopConnection) => unknown,
  onCancel: () => unknown = () => undefined,
): Promise<LoopServer> {
  return ScriptedServer.listen(path, LoopRequest, LoopAnswer, (request, connection) => {
    if (request.kind === "turn") onTurn(request.body, connection);
    else if (request.kind === "sessions") connection.send({ kind: "session_list", body: { sessions: [] } }, true);
    else {
      connection.send({ kind: "ok", body: {} }, true);
      onCancel();
    }
  });
}

export function listenAdmin(path: string, answer: (request: AdminRequest) => AdminAnswer | undefined): Promise<AdminServer> {
  return ScriptedServer.listen(path, AdminRequest, AdminAnswer, (request, connection) => {
    const message = answer(request);
    if (message !== undefined) connection.send(message, true);
  });
}
