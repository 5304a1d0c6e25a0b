/** Shows one turn to a script: each event and the end as one line of JSON, the answer besides. */
import { type TurnEvent, unreachable } from "@boxmaker/proto";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import type { TurnEnd } from "./run-turn.ts";
import type { TurnView } from "./turn-view.ts";

/** The end as a message: `turn_done` and `error` as on the wire, `lost` where no end came, `left` where nobody waited for it. */
function endMessage(end: TurnEnd): { readonly kind: string; readonly body: object } {
  switch (end.kind) {
    case "done":
      return { kind: "turn_done", body: { content: end.content, usage: end.usage } };
    case "refused":
      return { kind: "error", body: { code: end.code, detail: end.detail } };
    case "lost":
      return { kind: "lost", body: { problem: end.problem } };
    case "left":
      return { kind: "left", body: {} };
    default:
      return unreachable(end);
  }
}

export class JsonView implements TurnView {
  readonly #events: Screen;
  readonly #answers: Screen;

  /** @param events one line each; @param answers the answers as text */
  constructor(events: Screen, answers: Screen) {
    this.#events = events;
    this.#answers = answers;
  }

  event(event: TurnEvent): void {
    this.#events.raw(jsonLine({ kind: "turn_event", body: event }));
  }

  end(end: TurnEnd): void {
    this.#events.raw(jsonLine(endMessage(end)));
    if (end.kind !== "done" || end.content === "") return;
    const block = this.#answers.openBlock("");
    block.push(end.content);
    block.end();
  }
}
