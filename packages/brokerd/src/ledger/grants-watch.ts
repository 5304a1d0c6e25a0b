/** Notices that grants have changed, by what decisions are taken with. */
import type { GrantSet } from "@boxmaker/policy";

/**
 * Returns what is to be told the grants of each decision; it calls `onChanged` where they aren't those of the one before. The same
 * object is the same grants: see the grant store.
 */
export function watchGrants(onChanged: () => void): (grants: GrantSet) => void {
  let known: GrantSet | undefined;
  return (grants) => {
    if (grants === known) return;
    known = grants;
    onChanged();
  };
}
