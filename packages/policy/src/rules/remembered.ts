/** What is remembered of a call that was let run, and what of a log that can't be believed: one rule for everybody who folds the log. */
import { AbsPath, type DecisionEvent, type Label, type RunPlan } from "@boxmaker/proto";

/** What is assumed of sessions and paths whose past isn't known. */
export const WORST: Label = { taint: "secret", untrusted: true };

/** What a grant has spent whose past isn't known: more than any grant has. */
export const ALL_USES: number = Number.MAX_SAFE_INTEGER;

/** The paths that take the new state of a session whose call was let run: the file of write_file, otherwise every writable mount. */
export function writtenBy({ tool, arguments: given }: DecisionEvent, run: RunPlan): readonly AbsPath[] {
  const file = tool === "write_file" && given.form === "typed" ? AbsPath.safeParse(given.values.path).data : undefined;
  return file === undefined ? run.mounts.filter(({ writable }) => writable).map(({ path }) => path) : [file];
}
