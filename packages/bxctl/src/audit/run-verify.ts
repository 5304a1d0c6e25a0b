/** `bxctl audit verify` with its flags: the log by itself, or held to a checkpoint. */
import { systemClock } from "@boxmaker/edge/log";
import { escapeText, unreachable } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { readOwnerTime } from "../time/owner-time.ts";
import type { AuditCommand } from "./audit-command.ts";
import { type ClaimFlags, readClaim } from "./checkpoint-claim.ts";
import type { StretchThreads } from "./stretch-threads.ts";
import { verifyAudit } from "./verify-audit.ts";

/** Flags as they were typed. */
export interface VerifyFlags extends ClaimFlags {
  readonly maxAge?: string | undefined;
}

/**
 * Verifies, and writes the report; 1 where the log or the checkpoint doesn't hold, or the log is older than is allowed; 2 where the flags
 * are no use. `threads` were started for this log.
 */
export async function runVerify(
  { directory, out, err, json }: AuditCommand,
  flags: VerifyFlags,
  threads?: StretchThreads,
): Promise<ExitStatus> {
  const oldest = flags.maxAge === undefined ? undefined : readOwnerTime(flags.maxAge, systemClock.now(), "back");
  if (oldest?.kind === "invalid") {
    err.line(`bxctl: --max-age: ${oldest.problem}`);
    return 2;
  }
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
      return await verifyAudit(directory, { write: (text) => out.raw(text) }, { claim: held, json, oldest: oldest?.time, threads });
    }
    default:
      return unreachable(claim);
  }
}
