/** Rules of validity between grants, and between grants and what is on the disk. */
import { AbsPath, escapeText, type GrantProblem, isProperParent, quoteText } from "@boxmaker/proto";
import { overlaps } from "./container-paths.ts";
import type { GrantFiles, Looked } from "./grant-files.ts";
import type { ParsedGrantFile } from "./parse-grant-file.ts";

/** A file of the set: its name, and what it says. */
export interface NamedGrantFile {
  /** Shown with its problems. */
  readonly shown: string;
  readonly parsed: ParsedGrantFile;
}

interface PathUse {
  readonly path: AbsPath;
  readonly index: number;
  readonly in: NamedGrantFile;
}

function pathUses(files: readonly NamedGrantFile[]): readonly PathUse[] {
  return files.flatMap((file) => (file.parsed.parts.constraints?.paths ?? []).map((path, index) => ({ path, index, in: file })));
}

function pathProblem({ in: { shown, parsed }, index }: PathUse, problem: string): GrantProblem {
  return { file: shown, line: parsed.lineOf(["constraints", "paths", index]), problem: `constraints.paths: ${problem}` };
}

function findSharedIds(files: readonly NamedGrantFile[]): readonly GrantProblem[] {
  const byId = Map.groupBy(files, ({ parsed }) => parsed.parts.id);
  return [...byId].flatMap(([id, sharing]) => {
    if (id === undefined || sharing.length === 1) return [];
    return sharing.map((file) => {
      const others = sharing.filter((other) => other !== file).map(({ shown }) => shown);
      return {
        file: file.shown,
        line: file.parsed.lineOf(["id"]),
        problem: `id: ${quoteText(id)} is also the id in ${others.join(", ")}`,
      };
    });
  });
}

function parentsOf(path: AbsPath): readonly AbsPath[] {
  const components = path.slice(1).split("/");
  return components.slice(0, -1).map((_, index) => AbsPath.parse(`/${components.slice(0, index + 1).join("/")}`));
}

/** A box that can write a folder can put a link in it, where another box's mount would then lead away. */
function findNested(uses: readonly PathUse[]): readonly GrantProblem[] {
  const permitted = uses.filter(({ in: { parsed } }) => parsed.parts.mode !== "deny");
  const writable = permitted.filter(({ in: { parsed } }) => parsed.parts.tool === "shell" || parsed.parts.tool === "write_file");
  const byPath = Map.groupBy(writable, ({ path }) => path);
  return permitted.flatMap((use) =>
    parentsOf(use.path)
      .flatMap((parent) => byPath.get(parent)?.slice(0, 1) ?? [])
      .map((outer) => {
        const by = outer.in === use.in ? "this grant" : outer.in.shown;
        return pathProblem(
          use,
          `${quoteText(use.path)} lies in ${quoteText(outer.path)}, which ${by} lets a box write and put links in`,
        );
      }),
  );
}

function findOwn(uses: readonly PathUse[], forbidden: readonly AbsPath[]): readonly GrantProblem[] {
  return uses.flatMap((use) => {
    const own = forbidden.find((path) => overlaps(path, use.path));
    if (own === undefined) return [];
    const relation = own === use.path ? "is" : isProperParent(own, use.path) ? "lies in" : "holds";
    return [pathProblem(use, `${quoteText(use.path)} ${relation} the box's own ${quoteText(own)}, which no grant may name`)];
  });
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
    if (found.kind === "link") return `${quoteText(use.path)} leads through the link ${quoteText(path)}; name the real place`;
    if (found.kind === "unreadable") return `${quoteText(use.path)} can't be looked at (${found.code} at ${quoteText(path)})`;
    // What doesn't exist yet has no links below it; the box compares again before it mounts.
    if (found.kind === "missing") return undefined;
    if (path === use.path && found.kind !== "directory" && isWritePermission(use)) {
      return `${quoteText(use.path)} is no folder, so no write ever matches it; name the folder that the file lies in`;
    }
  }
  return undefined;
}

function findMisplaced(uses: readonly PathUse[], files: GrantFiles): readonly GrantProblem[] {
  const look = onceEach(files);
  return uses.flatMap((use) => {
    const problem = placeProblem(use, look);
    return problem === undefined ? [] : [pathProblem(use, problem)];
  });
}

/** A path as it is without links, as far as it exists: a grant names real places, so it is compared with real places. */
function realPlace(path: AbsPath, files: GrantFiles): readonly AbsPath[] {
  const parents = [...parentsOf(path), path].reverse();
  for (const parent of parents) {
    const real = files.realPath(parent);
    if (real === undefined) continue;
    const place = AbsPath.safeParse(`${real === "/" ? "" : real}${path.slice(parent.length)}`);
    return place.success ? [path, place.data] : [path];
  }
  return [path];
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareProblems(a: GrantProblem, b: GrantProblem): number {
  return compareText(a.file, b.file) || a.line - b.line || compareText(a.problem, b.problem);
}

/** Sorted by file, line and text, each once, on one printable line. */
export function sortProblems(problems: readonly GrantProblem[]): readonly GrantProblem[] {
  const printable = problems.map(({ file, line, problem }) => ({ file, line, problem: escapeText(problem) }));
  return printable.sort(compareProblems).filter((problem, index) => {
    const before = printable[index - 1];
    return before === undefined || compareProblems(before, problem) !== 0;
  });
}

/** Problems between the files, and of their paths on this machine; `forbidden` are the box's own directories. */
export function checkGrantSet(
  all: readonly NamedGrantFile[],
  forbidden: readonly AbsPath[],
  files: GrantFiles,
): readonly GrantProblem[] {
  const uses = pathUses(all);
  const own = [...new Set(forbidden.flatMap((path) => realPlace(path, files)))];
  return [...findSharedIds(all), ...findNested(uses), ...findOwn(uses, own), ...findMisplaced(uses, files)];
}
