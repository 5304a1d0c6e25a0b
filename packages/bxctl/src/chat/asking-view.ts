/** The events of a turn and the questions it raises, in an order that a person can follow. */
import type { ApprovalId, TurnEvent } from "@boxmaker/proto";
import type { TurnEnd } from "./run-turn.ts";
import type { TurnView } from "./turn-view.ts";

/** Asks the owner; resolves when there is nothing left to ask. Must not reject for what a peer does. */
export type AskOwner = (approval: ApprovalId, settled: AbortSignal) => Promise<void>;

function settles(event: TurnEvent): boolean {
  return event.event === "tool_result" || event.event === "tool_denied" || event.event === "tool_failed";
}

/** Passes events on to a view. While a question is open they are held back, and one that answers it elsewhere takes it back. */
export class AskingView {
  readonly #view: TurnView;
  readonly #ask: AskOwner;
  #held: TurnEvent[] = [];
  #question: { readonly settled: AbortController; readonly done: Promise<void> } | undefined;

  constructor(view: TurnView, ask: AskOwner) {
    this.#view = view;
    this.#ask = ask;
  }

  async event(event: TurnEvent): Promise<void> {
    if (this.#question !== undefined && settles(event)) await this.#takeBack();
    if (this.#question === undefined) this.#pass(event);
    else this.#held.push(event);
  }

  /** Takes open questions back and shows the end. */
  async end(end: TurnEnd): Promise<void> {
    while (this.#question !== undefined) await this.#takeBack();
    this.#view.end(end);
  }

  /** Takes back the question that is open, if any: the owner no longer wants to answer it here. */
  cancel(): void {
    this.#question?.settled.abort();
  }

  async #takeBack(): Promise<void> {
    this.#question?.settled.abort();
    await this.#question?.done;
  }

  #pass(event: TurnEvent): void {
    this.#view.event(event);
    if (event.event !== "approval_pending") return;
    const settled = new AbortController();
    this.#question = { settled, done: this.#run(event.approval, settled.signal) };
  }

  async #run(approval: ApprovalId, settled: AbortSignal): Promise<void> {
    await this.#ask(approval, settled);
    this.#question = undefined;
    const held = this.#held;
    this.#held = [];
    // A further ask among them opens the next question, and what follows it is held again.
    for (const [index, event] of held.entries()) {
      this.#pass(event);
      if (event.event === "approval_pending") {
        this.#held = held.slice(index + 1);
        return;
      }
    }
  }
}
