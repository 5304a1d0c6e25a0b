/** Finds a file below the granted roots, component by component, without ever following a link. */
import { constants, readlinkSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { quoteText } from "@boxmaker/proto";
import { Descriptor } from "./descriptor.ts";
import { describeError, errorCode } from "./system-error.ts";

/** What is at a path. `parent` is undefined where the path is a root itself: its parent isn't ours. */
export type Place =
  | {
      readonly kind: "found";
      readonly file: Descriptor;
      readonly stats: Stats;
      readonly parent: Descriptor | undefined;
      readonly name: string;
    }
  | { readonly kind: "absent"; readonly parent: Descriptor; readonly name: string }
  | { readonly kind: "refused"; readonly problem: string };

function refused(problem: string): Place {
  return { kind: "refused", problem };
}

/** The innermost root that holds `path`. */
function rootOf(roots: readonly string[], path: string): string | undefined {
  return roots
    .filter((root) => path === root || path.startsWith(`${root}/`))
    .sort((a, b) => b.length - a.length)
    .at(0);
}

function linkProblem(path: string, location: string): string {
  const target = resolve(dirname(path), readlinkSync(location));
  return `${quoteText(path)} is a symbolic link to ${quoteText(target)}; ask for the target instead`;
}

/**
 * Walks from the root that holds `path` to what is there. Every step is taken from the directory that the step before opened, so
 * that nothing that is renamed or swapped meanwhile leads elsewhere. Descriptors go into `owned`, which the caller disposes.
 */
export function openBeneath(roots: readonly string[], path: string, owned: DisposableStack): Place {
  const root = rootOf(roots, path);
  if (root === undefined) return refused("outside the granted paths");
  const names = path === root ? [] : path.slice(root.length + 1).split("/");
  try {
    return walk(root, names, owned);
  } catch (error) {
    return refused(describeError(error));
  }
}

function walk(root: string, names: readonly string[], owned: DisposableStack): Place {
  let file = owned.use(Descriptor.handle(root, constants.O_NOFOLLOW));
  let stats = file.stat();
  let parent: Descriptor | undefined;
  let walked = root;
  if (stats.isSymbolicLink()) return refused(linkProblem(root, root));
  // A root is granted by its real path: a link further up would lead elsewhere.
  if (readlinkSync(file.self) !== root) return refused("the granted path leads through a symbolic link");
  for (const [index, name] of names.entries()) {
    if (!stats.isDirectory()) return refused(`${quoteText(walked)} is not a directory`);
    parent = file;
    const next = openEntry(parent, name, owned);
    if (next === undefined) {
      return index === names.length - 1
        ? { kind: "absent", parent, name }
        : refused(`no such directory as ${quoteText(`${walked}/${name}`)}`);
    }
    walked = `${walked}/${name}`;
    file = next;
    stats = file.stat();
    if (stats.isSymbolicLink()) return refused(linkProblem(walked, parent.entry(name)));
  }
  // A directory that was moved out of the root during the walk would take us with it.
  const real = readlinkSync(file.self);
  if (real !== root && !real.startsWith(`${root}/`)) return refused("moved while it was opened");
  return { kind: "found", file, stats, parent, name: names.at(-1) ?? "" };
}

function openEntry(parent: Descriptor, name: string, owned: DisposableStack): Descriptor | undefined {
  try {
    return owned.use(Descriptor.handle(parent.entry(name), constants.O_NOFOLLOW));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
