/** T5 for the owner's own grants: what one session's box can write, another's can't read as less than it was. */
import { AbsPath, holdsPath, joinLabel, type Label, type RunPlan, type SessionId, type Timestamp, ToolCall } from "@boxmaker/proto";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { hiddenPaths, pathsWritten } from "../rules/plan-run.ts";
import type { CallClass } from "./call-classes.ts";
import { type Checked, type Counterexample, checkAll } from "./checked.ts";
import { BOTTOM, isAtLeast, LABELS, stateAt } from "./circumstances.ts";
import { judgeSituation } from "./judged.ts";

/** A path that a box could write, and the highest state that its session could be in afterwards. */
interface Written {
  readonly path: AbsPath;
  readonly label: Label;
  readonly by: CallClass;
}

/** Every path that some call lets a box write, with each state that it could carry away. */
function findWritten(set: ValidGrantSet, samples: readonly CallClass[], now: Timestamp): readonly Written[] {
  const written = new Map<string, Written>();
  for (const by of samples) {
    if (by.call.tool !== "write_file" && by.call.tool !== "shell") continue;
    for (const before of LABELS) {
      const { session, origin } = by.vantage;
      const judgement = judgeSituation({ call: by.call, session, set, state: stateAt(before, origin), now });
      if (judgement.kind === "denied") continue;
      const label = joinLabel(before, judgement.label);
      for (const path of pathsWritten(by.call, judgement.run)) {
        const key = `${path}\0${label.taint}\0${label.untrusted}`;
        if (!written.has(key)) written.set(key, { path, label, by });
      }
    }
  }
  return [...written.values()];
}

/** Whether the box of this plan sees the path or something in it. */
function sees(plan: RunPlan, path: AbsPath): boolean {
  const isMounted = plan.mounts.some((mount) => holdsPath(mount.path, path) || holdsPath(path, mount.path));
  return isMounted && !hiddenPaths(plan).some((hidden) => holdsPath(hidden, path));
}

/** Calls that might read the path: of the file itself, of one in it, and all of shell's. */
function readersOf(path: AbsPath, shells: readonly CallClass[], session: SessionId): readonly CallClass[] {
  const files = [path, AbsPath.safeParse(`${path}/sample`).data].flatMap((at) =>
    at === undefined ? [] : [ToolCall.parse({ tool: "read_file", arguments: { path: at } })],
  );
  const near = shells.filter(({ matches }) =>
    matches.some(({ grant }) => grant.paths.some((place) => holdsPath(place, path) || holdsPath(path, place))),
  );
  const [any] = shells;
  const vantage = any?.vantage ?? { session, origin: "terminal" };
  return [...files.map((call) => ({ call, target: path, broader: null, vantage, matches: [] })), ...near];
}

function findLow(
  set: ValidGrantSet,
  { path, label, by }: Written,
  shells: readonly CallClass[],
  now: Timestamp,
): Counterexample | undefined {
  for (const reader of readersOf(path, shells, by.vantage.session)) {
    const { session, origin } = reader.vantage;
    const state = { ...stateAt(BOTTOM, origin), pathLabels: [{ path, label }] };
    const judgement = judgeSituation({ call: reader.call, session, set, state, now });
    if (judgement.kind === "denied" || (reader.call.tool === "shell" && !sees(judgement.run, path))) continue;
    if (!isAtLeast(judgement.label, label)) {
      const problem = `reads as ${judgement.label.taint} what ${by.call.tool} at ${by.target} could write as ${label.taint}`;
      return { problem, at: reader, label: BOTTOM };
    }
  }
  return undefined;
}

/** T5, over every path that a call can write and every call that could read it afterwards. `shells` are one of each kind. */
export function checkLaundering(
  set: ValidGrantSet,
  samples: readonly CallClass[],
  classes: readonly CallClass[],
  now: Timestamp,
): Checked {
  const shells = classes.filter(({ call }) => call.tool === "shell");
  return checkAll(findWritten(set, samples, now), (written) => findLow(set, written, shells, now));
}
