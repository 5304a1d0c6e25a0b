/** The sealed results of policy, as the rest of brokerd sees them: types and checks, nothing to make one with. */
export { type Ask, type Decision, isAsk, isDecision } from "./decide.ts";
