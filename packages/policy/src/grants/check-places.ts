/** Rules of validity between the files of a set and what is on the disk. */
import { AbsPath, type GrantProblem, quoteText } from "@boxmaker/proto";
import { type NamedGrantFile, type PathUse, parentsOf, pathProblem, pathUses } from "./check-grant-set.ts";
import type { GrantFiles, Looked } from "./grant-files.ts";
import type { ParsedLabelsFile } from "./parse-labels-file.ts";

/** `labels.toml` as its problems show it, with what it says. */
export interface NamedLabelsFile {
  readonly shown: string;
  readonly parsed: ParsedLabelsFile;
}

/** Looks at each path once, however many grants name it. */
function onceEach(files: GrantFiles): (path: AbsPath) => Looked {
  const seen = new Map<AbsPath, Looked>();
  return (path) => {
    const known = seen.get(path);
    if (known !== undefined) return known;
    const looked = files.look(path);
    seen.set(path, looked);
    return looked;
  };
}

/** A write is permitted below a folder only; it may be denied for a single file. */
function isWritePermission({ in: { parsed } }: PathUse): boolean {
  return parsed.parts.tool === "write_file" && parsed.parts.mode !== "deny";
}

function placeProblem(use: PathUse, look: (path: AbsPath) => Looked): string | undefined {
  for (const path of [...parentsOf(use.path), use.path]) {
    const found = look(path);
    if (found.kind === "link") return leadsThrough(use.path, path);
    if (found.kind === "unreadable") return `${quoteText(use.path)} can't be looked at (${found.code} at ${quoteText(path)})`;
    // What doesn't exist yet has no links below it; the box compares again before it mounts.
    if (found.kind === "missing") return undefined;
    if (path === use.path && found.kind === "other" && use.in.parsed.parts.mode !== "deny") {
      return `${quoteText(use.path)} is neither a file nor a folder, so no box can have it; name a folder`;
    }
    if (path === use.path && found.kind !== "directory" && isWritePermission(use)) {
      return `${quoteText(use.path)} is no folder, so no write ever matches it; name the folder that the file lies in`;
    }
  }
  return undefined;
}

/** What the owner says of a tree is said of the place that a call names, which leads through no link. */
function treeProblems({ shown, parsed }: NamedLabelsFile, look: (path: AbsPath) => Looked): readonly GrantProblem[] {
  return parsed.labels.flatMap(({ path }, index) => {
    const link = linkAt(path, look);
    if (link === undefined) return [];
    const line = parsed.lineOf(["trees", index, "path"]);
    return [{ file: shown, line, problem: `trees.${index}.path: ${leadsThrough(path, link)}` }];
  });
}

function linkAt(path: AbsPath, look: (path: AbsPath) => Looked): AbsPath | undefined {
  return [...parentsOf(path), path].find((each) => look(each).kind === "link");
}

function leadsThrough(path: AbsPath, link: AbsPath): string {
  return `${quoteText(path)} leads through the link ${quoteText(link)}; name the real place`;
}

/** Problems of the places that the files name, as they are on this machine now. */
export function checkPlaces(
  all: readonly NamedGrantFile[],
  labels: NamedLabelsFile | undefined,
  files: GrantFiles,
): readonly GrantProblem[] {
  const look = onceEach(files);
  const ofGrants = pathUses(all).flatMap((use) => {
    const problem = placeProblem(use, look);
    return problem === undefined ? [] : [pathProblem(use, problem)];
  });
  return [...ofGrants, ...(labels === undefined ? [] : treeProblems(labels, look))];
}

/** A path as it is without links, as far as it exists: a grant names real places, so it is compared with real places. */
function placesOf(path: AbsPath, files: GrantFiles): readonly AbsPath[] {
  const parents = [...parentsOf(path), path].reverse();
  for (const parent of parents) {
    const real = files.realPath(parent);
    if (real === undefined) continue;
    const place = AbsPath.safeParse(`${real === "/" ? "" : real}${path.slice(parent.length)}`);
    return place.success ? [path, place.data] : [path];
  }
  return [path];
}

/** The places as they are written and as they are without links, each once. */
export function realPlaces(places: readonly AbsPath[], files: GrantFiles): readonly AbsPath[] {
  return [...new Set(places.flatMap((path) => placesOf(path, files)))];
}
