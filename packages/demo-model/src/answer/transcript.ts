/** Keeps what a reply has said so far. */
import type { CallPiece, Delta } from "../api/chunk.ts";
import { renderReply } from "../tokens/template.ts";

interface Call {
  id: string | null;
  name: string;
  arguments: string;
}

/** The sum of the deltas that were sent. */
export class Transcript {
  #reasoning = "";
  #content = "";
  readonly #calls = new Map<number, Call>();

  add(delta: Delta): void {
    this.#reasoning += delta.reasoning_content ?? "";
    this.#content += delta.content ?? "";
    for (const piece of delta.tool_calls ?? []) {
      this.#addPiece(piece);
    }
  }

  /** What the slot holds of it. */
  text(): string {
    return renderReply(this.#reasoning, this.#content, [...this.#calls.values()]);
  }

  /** The `message` of a reply in one body. */
  message(): object {
    const calls = [...this.#calls.values()].map((call) => ({
      ...(call.id === null ? {} : { id: call.id }),
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
    return {
      role: "assistant",
      content: this.#content === "" ? null : this.#content,
      ...(this.#reasoning === "" ? {} : { reasoning_content: this.#reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  }

  #addPiece(piece: CallPiece): void {
    const call = this.#calls.get(piece.index) ?? { id: null, name: "", arguments: "" };
    call.id = piece.id ?? call.id;
    call.name = piece.function.name ?? call.name;
    call.arguments += piece.function.arguments ?? "";
    this.#calls.set(piece.index, call);
  }
}
