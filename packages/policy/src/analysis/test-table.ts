/** The owner's own table of calls and what they expect of them, tried against a set of grants. */
import { parseToml, type TomlPath, type TomlProblem } from "@boxmaker/edge/toml";
import {
  DataClass,
  DenialReason,
  Origin,
  parseShape,
  SessionId,
  type Timestamp,
  ToolCall,
  ToolName,
  timestampFromMillis,
} from "@boxmaker/proto";
import { z } from "zod";
import { Effect } from "../rules/effect.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { unnamedSession } from "./circumstances.ts";
import { effectOfJudgement, judgeSituation } from "./judged.ts";

/** The state that a case is tried in: a new session on the owner's terminal where it says nothing. */
const CaseState = z
  .strictObject({
    taint: DataClass.optional(),
    untrusted: z.boolean().optional(),
    origin: Origin.optional(),
    ceiling: DataClass.optional(),
    session: SessionId.optional(),
    now: z.date("expected a time like 2027-01-01T00:00:00Z").optional(),
    spent: z.record(z.string(), z.int().min(0)).readonly().optional(),
  })
  .readonly();

const TestCase = z
  .strictObject({
    name: z.string().optional(),
    tool: ToolName,
    args: z.record(z.string(), z.unknown()).readonly(),
    state: CaseState.optional(),
    expect: Effect,
    reason: DenialReason.optional(),
    grant: z.string().optional(),
  })
  .readonly();
type TestCase = z.infer<typeof TestCase>;

const TestFile = z.strictObject({ cases: z.array(TestCase).min(1, "expected at least one [[cases]]").readonly() }).readonly();

/** One case whose call has been parsed. `line` is where it begins. */
export interface TableCase {
  readonly name: string;
  readonly line: number;
  readonly call: ToolCall;
  readonly stated: TestCase;
}

export type TestTable =
  | { readonly kind: "ok"; readonly cases: readonly TableCase[] }
  | { readonly kind: "invalid"; readonly problems: readonly TomlProblem[] };

/** Reads a table of cases. All problems at once, each with its line. */
export function parseTestTable(text: string): TestTable {
  const parsed = parseToml(TestFile, text);
  if (parsed.kind === "invalid") return parsed;
  const cases: TableCase[] = [];
  const problems: TomlProblem[] = [];
  for (const [index, stated] of parsed.value.cases.entries()) {
    const lineOf = (...path: TomlPath): number => parsed.lineOf(["cases", index, ...path]);
    const call = parseShape(ToolCall, { tool: stated.tool, arguments: stated.args });
    if (call.kind === "invalid") {
      problems.push({ line: lineOf("args"), problem: `args: no call of ${stated.tool} looks like this: ${call.problem}` });
      continue;
    }
    if (stated.reason !== undefined && stated.expect !== "deny") {
      problems.push({ line: lineOf("reason"), problem: "reason: only a denial has one; take it out, or expect deny" });
      continue;
    }
    cases.push({ name: stated.name ?? `case ${index + 1}`, line: lineOf(), call: call.value, stated });
  }
  return problems.length === 0 ? { kind: "ok", cases } : { kind: "invalid", problems };
}

/** What a case says or what was found: null where a case says nothing about it. */
export interface CaseOutcome {
  readonly outcome: Effect;
  readonly reason: DenialReason | null;
  readonly grant: string | null;
}

export interface CaseResult {
  readonly name: string;
  readonly line: number;
  readonly passed: boolean;
  readonly expected: CaseOutcome;
  readonly found: CaseOutcome;
}

export interface TableResult {
  readonly cases: readonly CaseResult[];
  readonly passed: number;
  readonly failed: number;
  /** The ids of grants that speak about no case's call. */
  readonly unexercised: readonly string[];
}

/** Tries every case. `now` is the time of those that say none. */
export function runTestTable(cases: readonly TableCase[], set: ValidGrantSet, now: Timestamp): TableResult {
  const exercised = new Set<string>();
  const elsewhere = unnamedSession(set.grants.map(({ grant }) => grant));
  const results = cases.map(({ name, line, call, stated }): CaseResult => {
    const {
      taint = "public",
      untrusted = false,
      origin = "terminal",
      ceiling = "secret",
      spent = {},
      ...rest
    } = stated.state ?? {};
    const at = rest.now === undefined ? now : timestampFromMillis(rest.now.getTime());
    const state = {
      label: { taint, untrusted },
      origin,
      ceiling,
      usesSpent: (id: string): number => spent[id] ?? 0,
      pathLabels: [],
    };
    const judgement = judgeSituation({ call, session: rest.session ?? elsewhere, set, state, now: at });
    for (const { grant } of judgement.findings.matched) exercised.add(grant);
    const found: CaseOutcome = {
      outcome: effectOfJudgement(judgement),
      reason: judgement.kind === "denied" ? judgement.reason : null,
      grant: judgement.findings.named?.grant ?? null,
    };
    const expected: CaseOutcome = { outcome: stated.expect, reason: stated.reason ?? null, grant: stated.grant ?? null };
    const isSame = found.outcome === expected.outcome;
    const isReason = expected.reason === null || expected.reason === found.reason;
    const isGrant = expected.grant === null || expected.grant === found.grant;
    return { name, line, passed: isSame && isReason && isGrant, expected, found };
  });
  const passed = results.filter((result) => result.passed).length;
  return {
    cases: results,
    passed,
    failed: results.length - passed,
    unexercised: set.grants.map(({ grant }) => grant.id).filter((id) => !exercised.has(id)),
  };
}
