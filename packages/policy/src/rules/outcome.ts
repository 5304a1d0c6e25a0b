/**
 * The rule of decisions: permissions are a union, restrictions are a union. A call gets the most that a grant gives it now, and no
 * more than any ask or deny lets through; those restrict whatever the state is, so that a session that has seen more can never do more.
 */
import { type DataClass, type DenialReason, isAbove, type Label } from "@boxmaker/proto";
import { type Effect, milder, stricter } from "./effect.ts";
import type { Grant } from "./grant.ts";
import type { Otherwise } from "./grant-set.ts";

/** What {@link Otherwise} says about whether a call runs. */
export type OtherwiseRule = Pick<Otherwise, "effect" | "maxTaint" | "ifUntrusted">;

/** What a grant's effect depends on beside the grant. */
export interface Circumstances {
  readonly label: Label;
  readonly ceiling: DataClass;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly now: number;
  readonly usesSpent: (grantId: string) => number;
}

export function hasExpired(grant: Grant, { now }: Circumstances): boolean {
  return grant.expires !== null && now >= grant.expires;
}

export function areUsesSpent(grant: Grant, { usesSpent }: Circumstances): boolean {
  return grant.uses !== null && usesSpent(grant.id) >= grant.uses;
}

function isTooTainted(rule: { readonly maxTaint: DataClass }, { label }: Circumstances): boolean {
  return isAbove(label.taint, rule.maxTaint);
}

/** What a grant gives a call that it speaks about, now. */
export function effectOf(grant: Grant, circumstances: Circumstances): Effect {
  if (hasExpired(grant, circumstances) || areUsesSpent(grant, circumstances) || isTooTainted(grant, circumstances)) return "deny";
  return circumstances.label.untrusted ? stricter(grant.mode, grant.ifUntrusted) : grant.mode;
}

/** What a tool gives a call now that no grant permits; deny where nothing is said of it. */
export function effectOtherwise(otherwise: OtherwiseRule | undefined, circumstances: Circumstances): Effect {
  if (otherwise === undefined || isTooTainted(otherwise, circumstances)) return "deny";
  return circumstances.label.untrusted ? stricter(otherwise.effect, otherwise.ifUntrusted) : otherwise.effect;
}

/**
 * What becomes of a call that exactly these grants speak about.
 *
 * `otherwise` is what the tool gets where no grant permits; a grant that says `if_untrusted = "deny"` switches it off.
 */
export function outcomeOf(grants: readonly Grant[], otherwise: OtherwiseRule | undefined, circumstances: Circumstances): Effect {
  let restriction: Effect = "auto";
  let permission: Effect = "deny";
  for (const grant of grants) {
    restriction = stricter(restriction, grant.mode);
    if (grant.mode !== "deny") permission = milder(permission, effectOf(grant, circumstances));
  }
  if (otherwise !== undefined && !grants.some((grant) => grant.ifUntrusted === "deny")) {
    permission = milder(permission, effectOtherwise(otherwise, circumstances));
  }
  return stricter(restriction, permission);
}

/**
 * Why a call is denied that exactly these grants speak about and whose results have the class `resultClass`, or `undefined` where the
 * rule lets it through (as `auto` or as `ask`).
 */
export function denialOf(
  grants: readonly Grant[],
  otherwise: OtherwiseRule | undefined,
  circumstances: Circumstances,
  resultClass: DataClass,
): DenialReason | undefined {
  if (grants.some((grant) => grant.mode === "deny")) return "denied_by_grant";
  const isDenied = outcomeOf(grants, otherwise, circumstances) === "deny";
  const speaks = grants.length > 0 || otherwise !== undefined;
  if (speaks && isAbove(resultClass, circumstances.ceiling)) return "audience";
  if (!isDenied) return undefined;
  const trusted: Circumstances = { ...circumstances, label: { ...circumstances.label, untrusted: false } };
  if (outcomeOf(grants, otherwise, trusted) !== "deny") return "untrusted";
  if (grants.some((grant) => isTooTainted(grant, circumstances))) return "taint";
  if (otherwise !== undefined && isTooTainted(otherwise, circumstances)) return "taint";
  if (grants.some((grant) => areUsesSpent(grant, circumstances))) return "uses_spent";
  if (grants.some((grant) => hasExpired(grant, circumstances))) return "expired";
  return "no_grant";
}
