/** Writes the body of one answer piece by piece, each on its way before the next is made, and cuts it where it is told to. */
import type { ServerResponse } from "node:http";

/** How an answer is sent. */
export interface WriterOptions {
  /** Close the connection after this many bytes of the body; null for never. */
  readonly cutAt: number | null;
  readonly split: "none" | "bytes";
}

/** Sends one answer. Every method returns false once nothing more can be sent, because of a cut or because the client has gone. */
export class BodyWriter {
  readonly #response: ServerResponse;
  readonly #options: WriterOptions;
  readonly #headers: Readonly<Record<string, string>>;
  #written = 0;
  #onWire = false;
  #isCut = false;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>, options: WriterOptions) {
    this.#response = response;
    this.#headers = headers;
    this.#options = options;
  }

  /** Whether the connection was closed by the script. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Sends status line and headers, if they aren't sent yet. */
  headers(): boolean {
    if (!this.#response.headersSent && this.#open()) {
      this.#response.writeHead(200, this.#headers);
      this.#response.flushHeaders();
    }
    return this.#open();
  }

  /** Sends bytes of the body. */
  async write(bytes: string | Uint8Array): Promise<boolean> {
    this.headers();
    const whole = Buffer.from(bytes);
    const left = this.#options.cutAt === null ? whole.length : Math.max(0, this.#options.cutAt - this.#written);
    const sent = whole.subarray(0, left);
    const pieces = this.#options.split === "bytes" ? Array.from(sent, (byte) => Buffer.of(byte)) : [sent];
    for (const piece of pieces) {
      if (piece.length > 0 && this.#open()) {
        this.#written += piece.length;
        await taken((done) => this.#response.write(piece, done));
      }
    }
    if (sent.length < whole.length || this.#written === this.#options.cutAt) {
      this.cut();
    }
    return this.#open();
  }

  /** Sends bytes of the connection, around HTTP. */
  async wire(bytes: string | Uint8Array): Promise<boolean> {
    this.#onWire = true;
    const { socket } = this.#response;
    if (socket !== null && this.#open()) {
      await taken((done) => socket.write(Buffer.from(bytes), done));
    }
    return this.#open();
  }

  /** Closes the connection after what was sent, without an end of the body. */
  cut(): false {
    this.#isCut = true;
    this.#response.socket?.destroySoon();
    return false;
  }

  /** Ends the body as it should. */
  end(): void {
    if (this.#onWire) {
      this.cut();
    } else if (this.headers()) {
      this.#response.end();
    }
  }

  #open(): boolean {
    const { socket } = this.#response;
    return !this.#isCut && socket !== null && socket.writable;
  }
}

/** Waits until the system has taken what `write` sent, or has refused it: who has gone is seen by the connection's state. */
function taken(write: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    write(() => resolve());
  });
}
