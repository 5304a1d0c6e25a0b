/** What an owner asks of their grants, answered by the same rules that decide. Nothing here can let a call run. */

export { type Aspect, diffSets, type SetDifference, type StateChange, type TargetChange } from "./diff.ts";
export { type ExactGrant, type ExactLimits, exactGrant, restrictionsOn } from "./exact-grant.ts";
export {
  type Because,
  type CallExplanation,
  explain,
  type GrantPlace,
  type MatchedExplanation,
  type OtherwiseExplanation,
  type Remedy,
  type UnmatchedExplanation,
} from "./explain.ts";
export { type ExplainedState, explanationBody } from "./explanation-body.ts";
export type { Flow, Source } from "./flows.ts";
export { type GrantDraft, loadDraft } from "./grant-text.ts";
export type { Outcome, Situation } from "./judged.ts";
export { type Finding, type LintOptions, lint, type Oddity } from "./lint.ts";
export { type ListedFile, LogFold, type PastRaise, type PastSession } from "./log-fold.ts";
export { recordedCall, type TextOf, targetOf } from "./recorded-call.ts";
export {
  type ChangedDecision,
  decisionAt,
  type LogSources,
  type PastOutcome,
  type RecordedDecision,
  type Replay,
  type ReplayOptions,
  replay,
  type SkippedDecision,
} from "./replay.ts";
export { type Loosened, type Suggestion, type SuggestOptions, suggest } from "./suggest.ts";
export { type Power, powersOf, type TableSituation } from "./table.ts";
export {
  type CaseOutcome,
  type CaseResult,
  parseTestTable,
  runTestTable,
  type TableCase,
  type TableResult,
  type TestTable,
} from "./test-table.ts";
export { type Coverage, type Failure, type Theorem, type TheoremId, type Verification, verify } from "./verify.ts";
export type { Step } from "./walk.ts";
