/** What the boxes of two calls have to do with each other: which paths they share, and what one could carry away for the other. */
import { holdsPath, joinLabel, type Label, type Mount, type SessionId } from "@boxmaker/proto";

/** `after` is the session's state once the call was let run: the label of all that its box may write. */
export interface BoxReach {
  readonly session: SessionId;
  readonly mounts: readonly Mount[];
  readonly after: Label;
}

/** Whether one of the mounts holds the other. */
export function overlap(a: Pick<Mount, "path">, b: Pick<Mount, "path">): boolean {
  return holdsPath(a.path, b.path) || holdsPath(b.path, a.path);
}

/**
 * Whether `next` may write, where `running` of the same session can read it, what `running` may write on under a lower label than the
 * session has by then.
 */
export function carriesAway(running: BoxReach, next: BoxReach): boolean {
  const { taint, untrusted } = joinLabel(running.after, next.after);
  if (taint === running.after.taint && untrusted === running.after.untrusted) return false;
  if (!running.mounts.some(({ writable }) => writable)) return false;
  return next.mounts.some((ours) => ours.writable && running.mounts.some((theirs) => overlap(ours, theirs)));
}
