/** Notices a model that makes the same call again and again. */
import { canonicalJson } from "@boxmaker/proto";
import type { CallArguments } from "./accept-calls.ts";

/** The calls of one turn. */
export class RepeatedCalls {
  readonly #counts = new Map<string, number>();

  /** Counts a call and returns how often it has now been made in this turn. */
  count(tool: string, args: CallArguments): number {
    const key = canonicalJson([tool, args.kind === "object" ? args.value : args.text]);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }
}
