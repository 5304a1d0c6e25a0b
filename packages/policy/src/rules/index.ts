/** What policy promises: a decision is a function of a call, the grants, the session's state and the time. */
export { CREDENTIAL_PLACES } from "./credential-places.ts";
export {
  type BoxKind,
  type CallRequest,
  type DecidedArguments,
  type DecisionRecord,
  decide,
  type PolicyState,
  type Redecision,
  redecide,
  type Verdict,
} from "./decide.ts";
export { type Ask, type Decision, isAsk, isDecision } from "./decision.ts";
export { completeGrant, type Grant, GrantFile, type LoadedGrant } from "./grant.ts";
export {
  type GrantSet,
  LABELS_FILE,
  OTHERWISE_GRANT,
  type Otherwise,
  type SetFile,
  TOOLS_FILE,
  type ValidGrantSet,
} from "./grant-set.ts";
export { hiddenPaths, pathsWritten } from "./plan-run.ts";
export { ALL_USES, WORST, writtenBy } from "./remembered.ts";
