/** A client that does as little as one can: one connection a call, its time from before connecting to the answer. */
import { connect } from "node:net";
import {
  type AnyMessage,
  type BrokerRequest,
  BrokerRequest as BrokerRequestShape,
  CallId,
  encodeMessage,
  SessionId,
} from "@boxmaker/proto";
import type { ServedBroker } from "./served-broker.ts";

/** `denied`: no grant speaks about it. `allowed`: it is let run, by no runtime. `asked`: it waits, and whoever sent it leaves at once. */
export type CallKind = "denied" | "allowed" | "asked";

/** A session that sends calls one after the other. */
export class Caller {
  readonly #broker: ServedBroker;
  readonly #session: SessionId;
  #call = 0;

  constructor(broker: ServedBroker, session: string) {
    this.#broker = broker;
    this.#session = SessionId.parse(session);
  }

  /** Sends a call and waits for the first frame of its answer. @returns milliseconds */
  async call(kind: CallKind): Promise<number> {
    const frame = this.#frame(kind);
    const started = performance.now();
    for (;;) {
      if (await this.#send(frame)) return performance.now() - started;
      // More connect at once than the kernel keeps for a listener: that is waited for, and counted.
      await new Promise((wake) => setTimeout(wake, 1));
    }
  }

  /** Resolves to false where the listener's queue is full. */
  #send(frame: Buffer): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#broker.socket);
      socket.on("error", (error) => {
        if ("code" in error && error.code === "EAGAIN") resolve(false);
        else reject(error);
      });
      socket.on("data", (chunk: Buffer) => {
        // What is refused before it is decided costs nothing and measures nothing.
        if (chunk.includes('"kind":"error"')) reject(new Error(chunk.toString("utf8")));
        else resolve(true);
        socket.destroy();
      });
      socket.on("close", () => reject(new Error("brokerd closed the connection without an answer")));
      socket.write(frame);
    });
  }

  #frame(kind: CallKind): Buffer {
    const path = kind === "denied" ? "/srv/nothing" : this.#broker.files.at("notes/todo.md");
    const [tool, args] = kind === "asked" ? ["write_file", { path, content: "x" }] : ["read_file", { path }];
    const call = CallId.parse(this.#call++);
    const body = { session: this.#session, call, turn: call, tool, arguments: JSON.stringify(args) };
    const message: BrokerRequest = { kind: "tool_request", body };
    return encodeMessage<AnyMessage & BrokerRequest>(BrokerRequestShape, { id: 1, final: true, message });
  }
}
