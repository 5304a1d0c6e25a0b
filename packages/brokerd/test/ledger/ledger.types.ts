/** What must not compile: a record or a raised state made by anybody who merely holds the ledger. */
import type { AuditRecord, DecisionEvent } from "@boxmaker/proto";
import type { Ledger } from "../../src/ledger/ledger.ts";

export function misuse(ledger: Ledger, record: AuditRecord, event: DecisionEvent): void {
  // @ts-expect-error: only the ledger takes records into the state.
  ledger.states.apply(record);
  // @ts-expect-error: nor does anybody else make it stricter.
  ledger.states.doubt(record);
  // @ts-expect-error: nothing is appended but by a step.
  ledger.append(event);
  // @ts-expect-error: what is read of a session can't be written.
  ledger.states.pathLabels.push({ path: "/srv", label: { taint: "public", untrusted: false } });
}
