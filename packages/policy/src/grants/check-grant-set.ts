/** Rules of validity between the files of a set, which can be told without the disk. */
import { AbsPath, type DataClass, type GrantProblem, isAbove, isProperParent, quoteText } from "@boxmaker/proto";
import { TOOL_DEFAULTS } from "../rules/grant.ts";
import { reservedPlaceAt } from "../rules/mountable-path.ts";
import { ownerLabels, type TreeLabel } from "../rules/path-labels.ts";
import type { ParsedGrantFile } from "./parse-grant-file.ts";

/** A file of the set: its name, and what it says. */
export interface NamedGrantFile {
  /** Shown with its problems. */
  readonly shown: string;
  readonly parsed: ParsedGrantFile;
}

/** One path that a file names. */
export interface PathUse {
  readonly path: AbsPath;
  readonly index: number;
  readonly in: NamedGrantFile;
}

/** Every path that the files name, with its place in them. */
export function pathUses(files: readonly NamedGrantFile[]): readonly PathUse[] {
  return files.flatMap((file) => (file.parsed.parts.constraints?.paths ?? []).map((path, index) => ({ path, index, in: file })));
}

/** A problem of one path. */
export function pathProblem({ in: { shown, parsed }, index }: PathUse, problem: string): GrantProblem {
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

/** The folders that the path lies in but the root, outermost first. */
export function parentsOf(path: AbsPath): readonly AbsPath[] {
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

function findOwn(uses: readonly PathUse[], reserved: readonly AbsPath[]): readonly GrantProblem[] {
  return uses.flatMap((use) => {
    const own = reservedPlaceAt(use.path, reserved);
    if (own === undefined) return [];
    const relation = own === use.path ? "is" : isProperParent(own, use.path) ? "lies in" : "holds";
    return [pathProblem(use, `${quoteText(use.path)} ${relation} the box's own ${quoteText(own)}, which no grant may name`)];
  });
}

/** A box mounts all of a shell grant's paths: its results are as confidential as any of them. */
function findLowLabels(uses: readonly PathUse[], owner: readonly TreeLabel[]): readonly GrantProblem[] {
  return uses.flatMap((use) => {
    const { tool, mode, label = TOOL_DEFAULTS.shell.label } = use.in.parsed.parts;
    if (tool !== "shell" || mode === "deny" || mode === undefined) return [];
    const above = ownerLabels(use.path, owner).find((entry) => isAbove(entry.label.taint, label));
    if (above === undefined) return [];
    const line = use.in.parsed.lineOf(["constraints", "paths", use.index]);
    return [{ file: use.in.shown, line, problem: `label: ${lowLabel(use.path, above.path, above.label.taint)}` }];
  });
}

function lowLabel(path: AbsPath, tree: AbsPath, taint: DataClass): string {
  const relation =
    tree === path
      ? "is"
      : isProperParent(tree, path)
        ? `lies in ${quoteText(tree)}, which is`
        : `holds ${quoteText(tree)}, which is`;
  return `${quoteText(path)} ${relation} ${taint}, so the results need label = "${taint}"`;
}

/** Problems between the files of a set; `labels` are the owner's, `reserved` are the box's own places. */
export function checkGrantSet(
  all: readonly NamedGrantFile[],
  labels: readonly TreeLabel[],
  reserved: readonly AbsPath[],
): readonly GrantProblem[] {
  const uses = pathUses(all);
  return [...findSharedIds(all), ...findNested(uses), ...findOwn(uses, reserved), ...findLowLabels(uses, labels)];
}
