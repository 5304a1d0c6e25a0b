/** What a session can still do, beside what a new one could. */
import type { PolicyState } from "@boxmaker/policy";
import { type Power, powersOf } from "@boxmaker/policy/analysis";
import type { SessionId } from "@boxmaker/proto";
import { readBrokerConfig } from "../box/broker-config.ts";
import { presentTime } from "./grants-command.ts";
import { readSet } from "./load-set.ts";
import { type OwnGrant, withOwnGrants } from "./own-grants.ts";
import { NO_PAST, pastState, readPast } from "./read-past.ts";

/** Kinds of calls by what they get now. `asks`: and were `auto` in a new session; `gone`: and weren't. */
export interface SessionPowers {
  readonly auto: readonly Power[];
  readonly asks: readonly Power[];
  readonly gone: readonly Power[];
}

export interface SeenBySession extends Pick<PolicyState, "label" | "origin" | "ceiling"> {
  readonly session: SessionId;
  readonly own: readonly OwnGrant[];
}

/** By the grants of this home; `undefined` where they can't be read, or every call is denied by them. */
export async function sessionPowers(home: string, seen: SeenBySession): Promise<SessionPowers | undefined> {
  const found = await readBrokerConfig(home);
  if (found.kind === "invalid") return undefined;
  const { config } = found;
  const read = await readSet(config, config.grants);
  if (read.kind === "invalid") return undefined;
  const reading = await readPast(config.audit);
  const past = pastState(reading.kind === "ok" ? reading.past : NO_PAST);
  const set = withOwnGrants({ set: read, config }, seen.own);
  const { session, label, origin, ceiling } = seen;
  const now = presentTime();
  const powersAt = (state: Pick<PolicyState, "label" | "ceiling">): readonly Power[] =>
    powersOf(set, { session, now, state: { ...state, origin, ...past } });
  const before = new Map(powersAt(config.newSession).map((power) => [`${power.tool} ${power.target}`, power.outcome]));
  const after = powersAt({ label, ceiling });
  const was = ({ tool, target }: Power): string | undefined => before.get(`${tool} ${target}`);
  return {
    auto: after.filter(({ outcome }) => outcome === "auto"),
    asks: after.filter((power) => power.outcome === "ask" && was(power) === "auto"),
    gone: after.filter((power) => power.outcome === "deny" && was(power) !== undefined && was(power) !== "deny"),
  };
}
