/** A set of grants from texts alone: what a log keeps of the grants that were in force, or what an owner thinks about. */
import { escapeText, type GrantProblem, sha256 } from "@boxmaker/proto";
import { parseGrantFile } from "../grants/parse-grant-file.ts";
import { completeGrant, type LoadedGrant } from "../rules/grant.ts";
import type { GrantSet } from "../rules/grant-set.ts";

/** A file of a grants directory: its name there and what it says. */
export interface GrantText {
  readonly file: string;
  readonly text: string;
}

/** The set that these texts make, or what is wrong with them. What only the disk can tell (links, owners, missing folders) isn't looked at. */
export function readSet(texts: readonly GrantText[]): GrantSet {
  const grants: LoadedGrant[] = [];
  const problems: GrantProblem[] = [];
  for (const { file, text } of texts) {
    const { whole, problems: found } = parseGrantFile(text);
    if (whole !== undefined) grants.push({ grant: completeGrant(whole), file, sha256: sha256(text), text });
    problems.push(...found.map(({ line, problem }) => ({ file: escapeText(file), line, problem })));
  }
  for (const [id, sharing] of Map.groupBy(grants, ({ grant }) => grant.id)) {
    if (sharing.length === 1) continue;
    problems.push(...sharing.map(({ file }) => ({ file: escapeText(file), line: 1, problem: `id: "${id}" is given twice` })));
  }
  if (problems.length > 0) return { kind: "invalid", problems };
  return { kind: "valid", grants, files: texts.map(({ file, text }) => ({ file, text, sha256: sha256(text) })) };
}
