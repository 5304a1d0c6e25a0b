/** The chain for who needs the records themselves, each with all of its fields. */
import { type AuditChainOptions, LineChain, type OnRecord } from "./audit-chain.ts";
import type { AuditRecord } from "./audit-event.ts";
import { readRecordLine } from "./record-line.ts";

/** A chain of whole records. */
export class AuditChain extends LineChain<AuditRecord> {
  constructor(onRecord: OnRecord, options: AuditChainOptions = {}) {
    super(readRecordLine, onRecord, options);
  }
}
