/** A set of grants with those that one session has of its own. */
import type { ValidGrantSet } from "@boxmaker/policy";
import { setFromTexts } from "@boxmaker/policy/grants";
import type { BrokerConfig } from "../box/broker-config.ts";

/** A grant that the owner has given a session, as brokerd tells of it. */
export interface OwnGrant {
  readonly grant: string;
  readonly text: string;
}

/** The set with them, as brokerd decides by; without them where they don't fit it any more, since they hold nothing then. */
export function withOwnGrants(
  { set, config }: { readonly set: ValidGrantSet; readonly config: BrokerConfig },
  own: readonly OwnGrant[],
): ValidGrantSet {
  if (own.length === 0) return set;
  const texts = [...set.files, ...own.map(({ grant, text }) => ({ file: `session grant ${grant}`, text }))];
  const added = setFromTexts(
    texts.map(({ file, text }) => ({ file, text })),
    config.forbidden,
  );
  return added.kind === "valid" ? added : set;
}
