/** What an owner asks of their grants, answered by the same rules that decide. Nothing here can let a call run. */
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
export type { Outcome, Situation } from "./judged.ts";
export { type Finding, type LintOptions, lint, type Oddity } from "./lint.ts";
export { type GrantText, readSet } from "./read-set.ts";
export { type Power, powersOf, type TableSituation } from "./table.ts";
