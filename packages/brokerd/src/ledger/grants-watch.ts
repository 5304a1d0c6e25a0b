/** Notices that grants have changed, by what decisions are taken with. */
import type { GrantSet } from "@boxmaker/policy";

/**
 * Returns what is to be told the grants of each decision; it calls `onChanged` where they aren't those of the one before, and when one of
 * them has expired since. The same object is the same grants: see the grant store.
 *
 * @param now the time in milliseconds
 */
export function watchGrants(onChanged: () => void, now: () => number): (grants: GrantSet) => void {
  let known: GrantSet | undefined;
  let next: number | undefined;
  return (grants) => {
    if (grants !== known) {
      known = grants;
      onChanged();
    }
    // Looked at once: what is to come by one look may be over by the next, and no timer takes such a time.
    const at = now();
    const expiry = nextExpiry(grants, at);
    if (expiry === next) return;
    next = expiry;
    if (expiry === undefined) return;
    const onExpired = (): void => {
      if (next !== expiry) return;
      next = undefined;
      onChanged();
    };
    AbortSignal.timeout(Math.min(expiry - at, MAX_SLEEP_MS)).addEventListener("abort", onExpired, { once: true });
  };
}

/** Longer than anything that was made for a grant is kept; then one drop too many does no harm. */
const MAX_SLEEP_MS = 24 * 60 * 60 * 1000;

function nextExpiry(set: GrantSet, at: number): number | undefined {
  if (set.kind === "invalid") return undefined;
  const coming = set.grants.flatMap(({ grant: { expires } }) => (expires !== null && expires > at ? [expires] : []));
  return coming.length === 0 ? undefined : Math.min(...coming);
}
