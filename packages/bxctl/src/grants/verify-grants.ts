/** `bxctl grants verify`: whether the theorems of policy hold for the owner's own grants, and what can flow where. */
import { type Failure, type Flow, type Step, type Verification, verify } from "@boxmaker/policy/analysis";
import { escapeText, quoteText } from "@boxmaker/proto";
import { phraseLabel } from "../approvals/describe-ask.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import { end, type GrantsCommand, presentTime } from "./grants-command.ts";
import { loadOwn } from "./load-set.ts";

const MARKS = { first: "", rest: "      " };

function stepLines(trace: readonly Step[]): readonly string[] {
  return trace.map(({ tool, target, grant, runs, after }, index) => {
    const by = grant === null ? "" : `, by ${quoteText(grant)}`;
    return `      ${index + 1}. ${tool} ${quoteText(target)} (${runs}${by}): the session has seen ${phraseLabel(after)}`;
  });
}

function failureLines({ problem, tool, target, state, trace }: Failure): readonly string[] {
  const way = trace === null ? ["      no new session comes to that state"] : stepLines(trace);
  return [
    `    ${escapeText(problem)}`,
    `    ${tool} ${quoteText(target)}, by a session that has seen ${phraseLabel(state)}; the shortest way there:`,
    ...(trace !== null && trace.length === 0 ? ["      a new session is in that state"] : way),
  ];
}

/** A session that has seen what a flow comes from. */
export function phraseSource(from: Flow["from"]): string {
  return from === "untrusted" ? "a session that has read text of strangers" : `a session that has seen ${from} data`;
}

function flowLines(flows: readonly Flow[]): readonly string[] {
  return flows.flatMap(({ from, sink, trace }) => {
    const what = phraseSource(from);
    if (trace === null) return [`never  ${what} uses ${sink} unapproved`];
    return [`CAN    ${what} use ${sink} unapproved:`, ...stepLines(trace)];
  });
}

function report(out: Screen, { theorems, flows, covered }: Verification): void {
  for (const { id, statement, checked, failure } of theorems) {
    out.line(`${id} ${failure === null ? "holds" : "FAILS"}: ${statement} (${checked} cases)`, MARKS);
    for (const line of failure === null ? [] : failureLines(failure)) out.line(line, MARKS);
  }
  for (const line of flowLines(flows)) out.line(line, MARKS);
  const { grants, classes, states, reachable, sessions, limits } = covered;
  out.line(
    `looked at: ${grants} grants, ${classes} kinds of calls, ${states} states of ${sessions} kinds of sessions, ${reachable} of them reachable`,
    MARKS,
  );
  for (const limit of limits) out.line(`not looked at: ${escapeText(limit)}`, MARKS);
}

/** 1 where a theorem fails. */
export async function verifyGrants(command: GrantsCommand, directory: string | undefined): Promise<ExitStatus> {
  const loaded = await loadOwn(command, directory);
  if (loaded.kind === "ended") return loaded.status;
  const verification = verify(loaded.set, presentTime());
  if (command.json) command.out.raw(jsonLine(verification));
  else report(command.out, verification);
  if (verification.holds) return 0;
  const failed = verification.theorems.filter(({ failure }) => failure !== null).map(({ id }) => id);
  return end(command, 1, `grants: ${failed.join(", ")} doesn't hold for these grants; see docs/runbook.md#theorem-fails`).status;
}
