/** The request editor as a stream between two sockets. */
import { Transform, type TransformCallback } from "node:stream";
import type { RequestEditor } from "./request-editor.ts";

/** A request that is not forwarded; `reason` is fixed text and holds nothing of the request. */
export class RequestRefusedError extends Error {
  override readonly name = "RequestRefusedError";
  readonly reason: string;

  constructor(reason: string) {
    super(`refuse a request: ${reason}`);
    this.reason = reason;
  }
}

/** Passes a client's bytes through an editor; fails with {@link RequestRefusedError} at the first that it refuses. */
export class RequestStream extends Transform {
  readonly #editor: RequestEditor;
  #forwarded = false;

  constructor(editor: RequestEditor) {
    super();
    this.#editor = editor;
  }

  /** Whether anything of the client's was passed on. */
  get hasForwarded(): boolean {
    return this.#forwarded;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const step = this.#editor.push(chunk);
    if (step.refused !== null) {
      done(new RequestRefusedError(step.refused));
      return;
    }
    if (step.forward.length > 0) this.#forwarded = true;
    for (const bytes of step.forward) {
      this.push(bytes);
    }
    done();
  }
}
