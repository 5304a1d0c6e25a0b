/** A grant that is to be added to a valid set: held to the rules that a file of the set is held to. */
import { type AbsPath, type GrantProblem, sha256 } from "@boxmaker/proto";
import { completeGrant, type LoadedGrant } from "../rules/grant.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { checkGrantSet, type NamedGrantFile } from "./check-grant-set.ts";
import { checkPlaces, realPlaces } from "./check-places.ts";
import { type GrantFiles, realGrantFiles } from "./grant-files.ts";
import { parseGrantFile } from "./parse-grant-file.ts";
import { sortProblems } from "./sort-problems.ts";

/** The grant, or all problems that it has or makes. */
export type AddedGrant =
  | { readonly kind: "valid"; readonly loaded: LoadedGrant }
  | { readonly kind: "invalid"; readonly problems: readonly GrantProblem[] };

export interface AddedGrantOptions {
  /** The box's own directories, that of the grants included. */
  readonly forbidden: readonly AbsPath[];
  readonly files?: GrantFiles;
}

const parsedGrants = new WeakMap<LoadedGrant, NamedGrantFile>();

/** The file of a grant, parsed once: it stays in force for many additions. */
function fileOf(loaded: LoadedGrant): NamedGrantFile {
  const known = parsedGrants.get(loaded);
  if (known !== undefined) return known;
  const parsed = { shown: loaded.file, parsed: parseGrantFile(loaded.text) };
  parsedGrants.set(loaded, parsed);
  return parsed;
}

/** Checks `text` as the file `file` of the set would be checked. The set itself isn't changed. */
export function checkAddedGrant(
  set: ValidGrantSet,
  file: string,
  text: string,
  { forbidden, files = realGrantFiles }: AddedGrantOptions,
): AddedGrant {
  const parsed = parseGrantFile(text);
  const own = parsed.problems.map(({ line, problem }) => ({ file, line, problem }));
  const added = { shown: file, parsed };
  const problems = [
    ...own,
    ...checkGrantSet([...set.grants.map(fileOf), added], set.labels ?? [], realPlaces(forbidden, files)),
    ...checkPlaces([added], undefined, files),
  ];
  if (problems.length > 0 || parsed.whole === undefined) return { kind: "invalid", problems: sortProblems(problems) };
  return { kind: "valid", loaded: { grant: completeGrant(parsed.whole), file, sha256: sha256(text), text } };
}
