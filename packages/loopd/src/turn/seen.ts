/** What a session has seen, from the results that it was given: for the owner's eyes; brokerd keeps the state that decides. */
import { type DataClass, isAbove, joinLabel, type Label, type TurnEvent } from "@boxmaker/proto";

type TaintEvent = Extract<TurnEvent, { readonly event: "taint" }>;

/** Rises with each result, never falls. */
export class Seen {
  #label: Label;

  constructor(label: Label) {
    this.#label = label;
  }

  /** Takes a result; returns the event to say where it raised what was seen so far. */
  add(tool: string, dataClass: DataClass, untrusted: boolean): TaintEvent | undefined {
    const before = this.#label;
    this.#label = joinLabel(before, { taint: dataClass, untrusted });
    const raised = isAbove(this.#label.taint, before.taint) || this.#label.untrusted !== before.untrusted;
    if (!raised) return undefined;
    return { event: "taint", from: before.taint, to: this.#label.taint, untrusted: this.#label.untrusted, tool };
  }
}
