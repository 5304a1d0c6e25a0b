/** The limits that the owner sets to a grant for a call that they approve. */
import { systemClock } from "@boxmaker/edge/log";
import { quoteText, SafeInteger, type Timestamp, timestampFromMillis } from "@boxmaker/proto";
import { readOwnerTime } from "../time/owner-time.ts";

/** Flags as they were typed. */
export interface GrantFlags {
  readonly uses?: string | undefined;
  readonly expires?: string | undefined;
}

/** What the new grant is limited to; null: the owner wants none, but this one approval. */
export interface GrantLimits {
  readonly uses: number | null;
  readonly expires: Timestamp | null;
}

export type LimitsReading =
  | { readonly kind: "ok"; readonly value: GrantLimits | undefined }
  | { readonly kind: "usage"; readonly problem: string };

/** Reads the flags: `undefined` where none is given. */
export function readLimits({ uses, expires }: GrantFlags): LimitsReading {
  if (uses === undefined && expires === undefined) return { kind: "ok", value: undefined };
  const count =
    uses === undefined ? null : SafeInteger.min(1).safeParse(/^[1-9][0-9]{0,15}$/u.test(uses) ? Number(uses) : undefined);
  if (count?.success === false)
    return { kind: "usage", problem: `${quoteText(uses ?? "")} is no number of uses: expected 1 or more` };
  if (expires === undefined) return { kind: "ok", value: { uses: count?.data ?? null, expires: null } };
  const now = systemClock.now();
  const reading = readOwnerTime(expires, now, "ahead");
  if (reading.kind === "invalid") return { kind: "usage", problem: `--expires: ${reading.problem}` };
  if (reading.time <= timestampFromMillis(now)) {
    return { kind: "usage", problem: `--expires: ${quoteText(expires)} is in the past: the grant could never permit anything` };
  }
  return { kind: "ok", value: { uses: count?.data ?? null, expires: reading.time } };
}
