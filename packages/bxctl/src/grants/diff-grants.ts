/** `bxctl grants diff OLD NEW`: two grants directories compared by what they do. */
import { diffSets, type SetDifference, type StateChange, type TargetChange } from "@boxmaker/policy/analysis";
import { quoteText } from "@boxmaker/proto";
import { phraseLabel } from "../approvals/describe-ask.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { end, type GrantsCommand, presentTime } from "./grants-command.ts";
import { loadConfig, loadSet } from "./load-set.ts";

const MARKS = { first: "", rest: "      " };

function sizeOf({ widened, narrowed }: TargetChange): string {
  if (widened.length === 0) return `narrower (${narrowed.join(", ")})`;
  if (narrowed.length === 0) return `WIDER (${widened.join(", ")})`;
  return `WIDER (${widened.join(", ")}) and narrower (${narrowed.join(", ")})`;
}

/** States that change alike, by what they change from and to. */
function stateLines(states: readonly StateChange[]): readonly string[] {
  const alike = Map.groupBy(states, ({ before, after }) => `${before} -> ${after}`);
  return [...alike].map(([change, them]) => {
    const seen = new Set(them.map(({ state }) => phraseLabel(state)));
    const origins = new Set(them.map(({ origin }) => origin));
    return `    ${change} for sessions that have seen ${[...seen].join("; ")} (${[...origins].join(", ")})`;
  });
}

function lines({ changes, compared, unchanged }: SetDifference): readonly string[] {
  return [
    ...changes.flatMap((change) => [`${change.tool} ${quoteText(change.target)}: ${sizeOf(change)}`, ...stateLines(change.states)]),
    `grants diff: ${unchanged} of ${compared} kinds of calls are decided alike`,
  ];
}

/** @param failOnWider 1 where some call gets more by the new ones */
export async function diffGrants(command: GrantsCommand, before: string, after: string, failOnWider: boolean): Promise<ExitStatus> {
  const reading = await loadConfig(command);
  if (reading.kind === "ended") return reading.status;
  const old = await loadSet(command, reading.config, before);
  if (old.kind === "ended") return old.status;
  const fresh = await loadSet(command, reading.config, after);
  if (fresh.kind === "ended") return fresh.status;
  const difference = diffSets(old.set, fresh.set, presentTime());
  if (command.json) command.out.raw(jsonLine(difference));
  else for (const line of lines(difference)) command.out.line(line, MARKS);
  if (!failOnWider || !difference.wider) return 0;
  return end(command, 1, "grants: the new ones are wider; see docs/runbook.md#grants-wider").status;
}
