/** The records of the log as its verifier needs them: most are decisions and results, of which it counts three or four fields. */
import type { z } from "zod";
import type { ApprovalAuditEvent, AuditEvent, AuditRecord, DecisionEvent, ResultEvent } from "./audit-event.ts";

type Decision = Pick<DecisionEvent, "kind" | "outcome">;
type Result = Pick<z.infer<typeof ResultEvent>, "kind" | "decision">;
type Approval = Pick<ApprovalAuditEvent, "kind" | "decision" | "answer" | "outcome">;

/** An {@link AuditRecord} with what is counted of it. */
export interface TalliedRecord extends Pick<AuditRecord, "seq" | "time" | "prev"> {
  readonly event: Decision | Result | Approval | Exclude<AuditEvent, { kind: "decision" | "result" | "approval" }>;
}
