/** What must not compile: no code outside of policy can make a decision or an ask, or pass something else off as one. */
import type { CallId, Hash32, SessionId } from "@boxmaker/proto";
import type * as decideModule from "../../src/rules/decide.ts";
import { type Ask, type Decision, isDecision } from "../../src/rules/decision.ts";

type Exported = keyof typeof decideModule;
// @ts-expect-error The sealed class isn't exported, so there is nothing to call a constructor of.
export const exported: Exported = "SealedDecision";
// @ts-expect-error As above, for asks.
export const exportedAsk: Exported = "SealedAsk";

declare const decideAgain: typeof decideModule.redecide;
declare const decision: Decision;
declare const ask: Ask;
declare const rest: Parameters<typeof decideAgain> extends readonly [unknown, ...infer Rest] ? Rest : never;

// @ts-expect-error Decision is a type only.
export type Constructor = typeof Decision;
// @ts-expect-error Ask is a type only.
export type AskConstructor = typeof Ask;
// @ts-expect-error What `constructor` gives can't be called with `new`.
export const remake: new (...values: readonly never[]) => unknown = decision.constructor;

/** Everything public of a decision, and nothing else: the seal alone keeps it from being one. */
type LookAlike<T> = { readonly [Key in keyof T]: T[Key] };
declare const likeDecision: LookAlike<Decision>;
declare const likeAsk: LookAlike<Ask>;

// @ts-expect-error A look-alike has no seal.
export const passedOff: Decision = likeDecision;
// @ts-expect-error A look-alike has no seal.
export const passedOffAsk: Ask = likeAsk;
// @ts-expect-error An ask hasn't been approved.
export const unapproved: Decision = ask;
// @ts-expect-error A decision was never asked.
export const unasked: Ask = decision;
// @ts-expect-error Only what policy asked can be decided again.
export const answered = decideAgain(likeAsk, ...rest);

declare const session: SessionId;
declare const call: CallId;
declare const digest: Hash32;
// @ts-expect-error A literal is no ask, whatever it says.
export const literal: Ask = { session, call, digest };

// @ts-expect-error Nothing of a decision can be set.
decision.session = session;
// @ts-expect-error Nor of what is in it.
decision.run.mounts = [];
// @ts-expect-error Nor added to it.
export const mounts: unknown[] = decision.run.mounts;
// @ts-expect-error Nor of its arguments.
decision.request.tool = "shell";

declare const anything: unknown;
/** The check narrows, so that the runner can demand a decision. */
export const checked: Decision | undefined = isDecision(anything) ? anything : undefined;
