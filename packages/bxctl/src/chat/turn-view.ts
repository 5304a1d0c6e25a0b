/** Shows one turn as it happens. */
import { type TurnEvent, unreachable } from "@boxmaker/proto";
import type { OpenBlock, Screen } from "../terminal/screen.ts";
import { type LineEvent, phraseFailedEnd, phraseTool, showEvent, type Tone } from "./event-lines.ts";
import type { TurnEnd } from "./run-turn.ts";

/** What the model wrote begins with this on a terminal. No prompt ever does. */
export const ANSWER_MARK = "│ ";
const REASONING_MARK = "┊ ";
const EVENT_MARKS = { first: "• ", rest: "  " };

/** Takes a turn's events and its end. */
export interface TurnView {
  event(event: TurnEvent): void;
  end(end: TurnEnd): void;
}

export interface ScreenViewOptions {
  /** Where events go. */
  readonly events: Screen;
  /** Where the answer goes. */
  readonly answers: Screen;
  /** `streamed`: text as it comes, with the events. `final`: nothing but the answer, at the end. */
  readonly text: "streamed" | "final";
}

function toneStyle({ style }: Screen, tone: Tone): (text: string) => string {
  switch (tone) {
    case "quiet":
      return style.dim;
    case "warn":
      return style.yellow;
    case "bad":
      return style.red;
    case "plain":
      return (text) => text;
    default:
      return unreachable(tone);
  }
}

/** For a person: on a terminal with marks and passing status, elsewhere as plain lines. */
export class ScreenView implements TurnView {
  readonly #options: ScreenViewOptions;
  #block: { readonly kind: "reasoning" | "text"; readonly open: OpenBlock } | undefined;
  /** The text since the last call: what the final answer should turn out to be. */
  #streamed = "";
  #running: string | undefined;

  constructor(options: ScreenViewOptions) {
    this.#options = options;
  }

  event(event: TurnEvent): void {
    if (event.event === "reasoning") this.#push("reasoning", event.text);
    else if (event.event === "text") {
      if (this.#options.text === "streamed") this.#pushAnswer(event.text);
    } else if (event.event === "approval_pending") {
      // Its block comes from brokerd.
      this.#closeBlock();
      this.#options.events.clearStatus();
    } else this.#show(event);
  }

  end(end: TurnEnd): void {
    const { events } = this.#options;
    events.clearStatus();
    if (end.kind === "done") {
      this.#answer(end.content);
      return;
    }
    this.#closeBlock();
    const call = this.#running === undefined ? "" : `; ${this.#running} had no result yet`;
    events.line(`${phraseFailedEnd(end)}${call}`, undefined, toneStyle(events, "bad"));
  }

  #show(event: LineEvent): void {
    const { events } = this.#options;
    if (event.event === "discarded" || ("tool" in event && event.event !== "taint")) this.#streamed = "";
    const shown = showEvent(event);
    if (event.event === "tool_call") this.#running = phraseTool(event.tool);
    if (event.event === "tool_denied" || event.event === "tool_failed" || event.event === "tool_result") this.#running = undefined;
    if (shown.kind === "status") {
      // A status would erase the row that text is being written on.
      if (event.event === "tool_call") this.#closeBlock();
      if (this.#block === undefined) events.status(shown.text);
    } else if (shown.kind === "line") {
      this.#closeBlock();
      events.line(shown.text, EVENT_MARKS, toneStyle(events, shown.tone));
    }
  }

  #answer(content: string): void {
    const { answers, events, text } = this.#options;
    if (content.trim() === "" && this.#streamed.trim() === "") {
      this.#closeBlock();
      events.line("the model gave no answer", EVENT_MARKS);
      return;
    }
    if (text === "final") {
      this.#closeBlock();
      const block = answers.openBlock(answers.isTerminal ? ANSWER_MARK : "");
      block.push(content);
      block.end();
      return;
    }
    if (content.startsWith(this.#streamed)) this.#pushAnswer(content.slice(this.#streamed.length));
    else {
      this.#closeBlock();
      this.#pushAnswer(content);
    }
    this.#closeBlock();
  }

  #pushAnswer(text: string): void {
    this.#streamed += text;
    this.#push("text", text);
  }

  #push(kind: "reasoning" | "text", text: string): void {
    if (text === "") return;
    const { events, answers } = this.#options;
    if (this.#block?.kind !== kind) {
      this.#closeBlock();
      events.clearStatus();
      const open =
        kind === "reasoning"
          ? events.openBlock(REASONING_MARK, events.style.dim)
          : answers.openBlock(answers.isTerminal ? ANSWER_MARK : "");
      this.#block = { kind, open };
    }
    this.#block.open.push(text);
  }

  #closeBlock(): void {
    this.#block?.open.end();
    this.#block = undefined;
  }
}
