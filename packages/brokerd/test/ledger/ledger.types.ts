/** What must not compile: a record or a raised state made by anybody who merely holds the ledger. */
import type { Ledger } from "../../src/ledger/ledger.ts";
import type { SessionStates } from "../../src/ledger/session-states.ts";

export function misuse(ledger: Ledger): readonly unknown[] {
  // @ts-expect-error: only the ledger takes records into the state, and nobody else makes it stricter.
  const states: SessionStates = ledger.states;
  const unknownKeys: readonly (keyof Ledger)[] = [
    // @ts-expect-error: nothing is appended but by a step.
    "append",
    // @ts-expect-error: nor is what appends handed out.
    "recorder",
  ];
  const hidden: readonly (keyof Ledger["states"])[] = [
    // @ts-expect-error: only the ledger takes records into the state.
    "apply",
    // @ts-expect-error: nor does anybody else make it stricter.
    "doubt",
  ];
  return [states, unknownKeys, hidden];
}
