/** `bxctl audit verify` with its flags: the log by itself, or held to a checkpoint. */
import { escapeText, unreachable } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { AuditCommand } from "./audit-command.ts";
import { type ClaimFlags, readClaim } from "./checkpoint-claim.ts";
import { verifyAudit } from "./verify-audit.ts";

/** Verifies, and writes the report; 1 where the log or the checkpoint doesn't hold, 2 where the flags are no use. */
export async function runVerify({ directory, out, err, json }: AuditCommand, flags: ClaimFlags): Promise<ExitStatus> {
  const claim = await readClaim(directory, flags).catch((error: unknown) => {
    // The folder of checkpoints can't be read: nothing can be held to it.
    const problem = error instanceof Error ? escapeText(error.message) : "an unknown error";
    return { kind: "refused" as const, problem: `${problem}; see docs/runbook.md#checkpoints-absent` };
  });
  switch (claim.kind) {
    case "usage":
      err.line(`bxctl: ${claim.problem}`);
      return 2;
    case "refused":
      out.raw(json ? jsonLine({ status: "unsigned", problem: claim.problem }) : `audit: ${claim.problem}\n`);
      return 1;
    case "none":
    case "claim": {
      const held = claim.kind === "claim" ? claim.claim : undefined;
      return await verifyAudit(directory, { write: (text) => out.raw(text) }, { claim: held, json });
    }
    default:
      return unreachable(claim);
  }
}
