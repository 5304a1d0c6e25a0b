/** The open connections of all sockets, so that brokerd can end them in order: nobody who was promised an answer loses it. */
import type { Socket } from "node:net";

export class Connections {
  /** What serves each; resolves when its answer has been given, or there is none to give. */
  readonly #open = new Map<Socket, Promise<void>>();
  readonly #answering = new Set<Socket>();
  readonly #ending = new AbortController();

  /** Aborts when those who only listen have to be told that it is over. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** @param served never rejects */
  add(socket: Socket, served: Promise<void>): void {
    this.#open.set(socket, served);
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Marks the connection as one whose request is being answered, until the function that is returned is called. */
  answering(socket: Socket): () => void {
    this.#answering.add(socket);
    return () => this.#answering.delete(socket);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Closes the connections that have asked nothing yet. */
  endIdle(): void {
    for (const socket of this.#open.keys()) if (!this.#answering.has(socket)) socket.destroy();
  }

  /** Waits until every request has its answer, which their own deadlines bound, then closes what is left. */
  async end(): Promise<void> {
    this.#ending.abort();
    this.endIdle();
    await Promise.all(this.#open.values());
    for (const socket of this.#open.keys()) socket.destroySoon();
  }
}
