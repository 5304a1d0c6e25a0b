/** One look at the grants directory: which files count, and whether anybody but the owner could have written them. */
import { join } from "node:path";
import { type AbsPath, decodeUtf8, escapeText, type GrantProblem, quoteText } from "@boxmaker/proto";
import { type GrantFiles, isSameStamp, type Looked, type Stamp } from "./grant-files.ts";

/** The largest grant file, in bytes. */
export const MAX_GRANT_BYTES = 256 * 1024;

const GROUP_OR_OTHERS_WRITE = 0o022n;
const STICKY = 0o1000n;

/** A file whose name counts. */
export interface DirectoryEntry {
  readonly name: string;
  readonly path: string;
  /** As it is printed. */
  readonly shown: string;
  readonly looked: Looked | { readonly kind: "unprintable" };
}

/** What a look found. `problems` are of the directory itself; those of single files are found by {@link entryProblem}. */
export interface DirectoryLook {
  readonly problems: readonly GrantProblem[];
  readonly directory: Looked;
  readonly entries: readonly DirectoryEntry[];
}

/** Who may write grants: root, and the user that brokerd runs as. */
function isOthersFile(stamp: Stamp, owner: number): boolean {
  return stamp.uid !== 0n && stamp.uid !== BigInt(owner);
}

function permissionProblem(stamp: Stamp, owner: number): string | undefined {
  if (isOthersFile(stamp, owner)) return `belongs to user ${stamp.uid}: only root and user ${owner} may write grants (chown it)`;
  return (stamp.mode & GROUP_OR_OTHERS_WRITE) === 0n ? undefined : "can be written by others than its owner (chmod go-w)";
}

function parentPermissionProblem(stamp: Stamp, owner: number): string | undefined {
  // In a sticky directory nobody but its owner can replace what lies in it; the mode of a link means nothing.
  const isGuarded = stamp.kind === "link" || (stamp.mode & STICKY) !== 0n;
  return permissionProblem(isGuarded ? { ...stamp, mode: 0n } : stamp, owner);
}

/** Everything that the directory lies in, as written and without links. */
function parentsOf(directory: string, real: string): readonly string[] {
  const parents = new Set<string>(["/"]);
  for (const path of [directory, real]) {
    const components = path.split("/").filter((component) => component !== "");
    components.slice(0, -1).forEach((_, index) => parents.add(`/${components.slice(0, index + 1).join("/")}`));
  }
  // A link in the directory's own place is one more thing that can be replaced.
  if (directory !== real) parents.add(directory);
  return [...parents];
}

function trustProblems(directory: string, real: string, found: Stamp, files: GrantFiles, owner: number): readonly GrantProblem[] {
  const problemOf = (path: string, problem: string | undefined): readonly GrantProblem[] =>
    problem === undefined ? [] : [{ file: escapeText(path), line: 1, problem: `grants can't be trusted: this folder ${problem}` }];
  const ofParents = parentsOf(directory, real).flatMap((path) => {
    const looked = files.look(path);
    return "ctimeNs" in looked ? problemOf(path, parentPermissionProblem(looked, owner)) : [];
  });
  return [...ofParents, ...problemOf(directory, permissionProblem(found, owner))];
}

/** Whether a name counts: `*.toml`, except the lock that Emacs puts beside a file which is being edited. */
function doesCount(name: Uint8Array): boolean {
  const text = Buffer.from(name).toString("latin1");
  return text.endsWith(".toml") && !text.startsWith(".#");
}

function lookAtEntry(directory: string, bytes: Uint8Array, files: GrantFiles): DirectoryEntry {
  const name = decodeUtf8(bytes);
  if (name === undefined || escapeText(name) !== name) {
    const spelled = Buffer.from(bytes).toString("utf8");
    return { name: spelled, path: "", shown: join(directory, escapeText(spelled)), looked: { kind: "unprintable" } };
  }
  const path = join(directory, name);
  return { name, path, shown: path, looked: files.look(path) };
}

/** Looks at the directory. Nothing in it is opened. */
export function lookAtDirectory(directory: AbsPath, files: GrantFiles, owner: number): DirectoryLook {
  const shown = escapeText(directory);
  const real = files.realPath(directory) ?? directory;
  const found = files.look(real);
  const problem = (text: string): DirectoryLook => ({
    problems: [{ file: shown, line: 1, problem: text }],
    directory: found,
    entries: [],
  });
  if (found.kind === "missing")
    return problem("no such folder: a missing grants directory isn't an empty one; make it, or correct the configuration");
  if (found.kind === "unreadable") return problem(`can't be looked at (${found.code})`);
  if (found.kind !== "directory") return problem("is no folder");
  const listing = files.list(directory);
  if (listing.kind === "unreadable") return problem(`can't be listed (${listing.code})`);
  const entries = listing.names.filter(doesCount).map((name) => lookAtEntry(directory, name, files));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { problems: trustProblems(directory, real, found, files, owner), directory: found, entries };
}

/** What is wrong with a file before it is opened. */
export function entryProblem({ name, looked }: DirectoryEntry, owner: number): string | undefined {
  switch (looked.kind) {
    case "missing":
      return "vanished while the grants were read";
    case "unprintable":
      return `the name ${quoteText(name)} can't be printed as it is; rename the file`;
    case "unreadable":
      return `can't be looked at (${looked.code})`;
    case "link":
      return "is a link: a grant has to be a file of its own";
    case "directory":
    case "other":
      return "is no regular file";
    case "file":
      if (looked.size > BigInt(MAX_GRANT_BYTES)) return `is larger than ${MAX_GRANT_BYTES} bytes`;
      return permissionProblem(looked, owner);
    default:
      return looked satisfies never;
  }
}

function isSameLooked(a: DirectoryEntry["looked"], b: DirectoryEntry["looked"]): boolean {
  return "ctimeNs" in a && "ctimeNs" in b ? isSameStamp(a, b) : a.kind === b.kind;
}

/** Whether nothing changed between two looks. */
export function isSameLook(a: DirectoryLook, b: DirectoryLook): boolean {
  return (
    isSameLooked(a.directory, b.directory) &&
    a.problems.length === b.problems.length &&
    a.problems.every(
      (problem, index) => problem.problem === b.problems[index]?.problem && problem.file === b.problems[index]?.file,
    ) &&
    a.entries.length === b.entries.length &&
    a.entries.every((entry, index) => {
      const other = b.entries[index];
      return other !== undefined && entry.name === other.name && isSameLooked(entry.looked, other.looked);
    })
  );
}

/** The latest change that the file system knows of, in milliseconds since 1970; `undefined` where it knows none. */
export function latestChange({ directory, entries }: DirectoryLook): number | undefined {
  const times = [directory, ...entries.map(({ looked }) => looked)].flatMap((looked) =>
    "ctimeNs" in looked ? [looked.ctimeNs] : [],
  );
  const latest = times.reduce<bigint | undefined>((max, time) => (max === undefined || time > max ? time : max), undefined);
  return latest === undefined ? undefined : Number(latest / 1_000_000n);
}
