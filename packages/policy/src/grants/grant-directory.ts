/** One look at the files of the set: which ones count, and whether anybody but the owner could have written them. */
import { basename, dirname, join } from "node:path";
import { type AbsPath, decodeUtf8, escapeText, type GrantProblem, quoteText } from "@boxmaker/proto";
import { type GrantFiles, isSameStamp, type Looked, type Stamp } from "./grant-files.ts";

/** The largest grant file, in bytes. */
export const MAX_GRANT_BYTES = 256 * 1024;
/** The most grant files. Each decision looks at all of them. */
export const MAX_GRANT_FILES = 20_000;
/** The most bytes that the grant files may have together: they are kept in memory. */
export const MAX_GRANTS_BYTES = 64 * 1024 * 1024;

const GROUP_OR_OTHERS_WRITE = 0o022n;
const STICKY = 0o1000n;

/** A file whose name counts. */
export interface DirectoryEntry {
  /** As the set names it. */
  readonly name: string;
  /** Without links in its folders. */
  readonly path: string;
  /** As it is printed. */
  readonly shown: string;
  readonly looked: Looked | { readonly kind: "unprintable" };
}

/** What a look found. `problems` are of the directory itself; those of single files are found by {@link entryProblem}. */
export interface DirectoryLook {
  readonly problems: readonly GrantProblem[];
  readonly directory: Looked;
  /** Sorted by name. */
  readonly entries: readonly DirectoryEntry[];
  /** Where files beside the directory are, or would be. */
  readonly folders: readonly Looked[];
}

/** A file of the set beside the directory: it need not exist. */
export interface FileBeside {
  /** As the set names it. */
  readonly name: string;
  readonly path: AbsPath;
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

function distrust(path: string, problem: string | undefined): readonly GrantProblem[] {
  return problem === undefined
    ? []
    : [{ file: escapeText(path), line: 1, problem: `grants can't be trusted: this folder ${problem}` }];
}

function parentTrustProblems(path: string, real: string, files: GrantFiles, owner: number): readonly GrantProblem[] {
  return parentsOf(path, real).flatMap((parent) => {
    const looked = files.look(parent);
    return "ctimeNs" in looked ? distrust(parent, parentPermissionProblem(looked, owner)) : [];
  });
}

function trustProblems(directory: string, real: string, found: Stamp, files: GrantFiles, owner: number): readonly GrantProblem[] {
  return [...parentTrustProblems(directory, real, files, owner), ...distrust(directory, permissionProblem(found, owner))];
}

/** Whether a name counts: `*.toml`, except the lock that Emacs puts beside a file which is being edited. */
function doesCount(name: Uint8Array): boolean {
  const text = Buffer.from(name).toString("latin1");
  return text.endsWith(".toml") && !text.startsWith(".#");
}

function lookAtEntry(directory: string, real: string, bytes: Uint8Array, files: GrantFiles): DirectoryEntry {
  const name = decodeUtf8(bytes);
  if (name === undefined || escapeText(name) !== name) {
    const spelled = Buffer.from(bytes).toString("utf8");
    return { name: spelled, path: "", shown: join(directory, escapeText(spelled)), looked: { kind: "unprintable" } };
  }
  const path = join(real, name);
  return { name, path, shown: join(directory, name), looked: files.look(path) };
}

/** Looks at the directory and at the files beside it. Nothing is opened. */
export function lookAtFiles(directory: AbsPath, beside: readonly FileBeside[], files: GrantFiles, owner: number): DirectoryLook {
  const look = lookAtDirectory(directory, files, owner);
  const looks = beside.map((file) => lookBeside(file, files, owner));
  const entries = [...look.entries, ...looks.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))];
  return {
    problems: [...look.problems, ...looks.flatMap(({ problems }) => problems)],
    directory: look.directory,
    entries: entries.sort(compareNames),
    folders: looks.map(({ folder }) => folder),
  };
}

interface LookBeside {
  readonly folder: Looked;
  /** Undefined where there is no such file, which then says nothing. */
  readonly entry: DirectoryEntry | undefined;
  readonly problems: readonly GrantProblem[];
}

function lookBeside({ name, path: written }: FileBeside, files: GrantFiles, owner: number): LookBeside {
  const real = files.realPath(dirname(written)) ?? dirname(written);
  const folder = files.look(real);
  const path = join(real, basename(written));
  const looked = files.look(path);
  if (looked.kind === "missing") return { folder, entry: undefined, problems: [] };
  const problems = parentTrustProblems(written, path, files, owner);
  return { folder, entry: { name, path, shown: escapeText(written), looked }, problems };
}

/** A file that is too large by itself is a problem of its own, and isn't read. */
function sizeOf(looked: DirectoryEntry["looked"]): bigint {
  return looked.kind === "file" && looked.size <= BigInt(MAX_GRANT_BYTES) ? looked.size : 0n;
}

function compareNames(a: DirectoryEntry, b: DirectoryEntry): number {
  return a.name < b.name ? -1 : 1;
}

function lookAtDirectory(directory: AbsPath, files: GrantFiles, owner: number): Omit<DirectoryLook, "folders"> {
  const shown = escapeText(directory);
  const real = files.realPath(directory) ?? directory;
  const found = files.look(real);
  const problem = (text: string): Omit<DirectoryLook, "folders"> => ({
    problems: [{ file: shown, line: 1, problem: text }],
    directory: found,
    entries: [],
  });
  if (found.kind === "missing")
    return problem("no such folder: a missing grants directory isn't an empty one; make it, or correct the configuration");
  if (found.kind === "unreadable") return problem(`can't be looked at (${found.code})`);
  if (found.kind !== "directory") return problem("is no folder");
  const listing = files.list(real);
  if (listing.kind === "unreadable") return problem(`can't be listed (${listing.code})`);
  const names = listing.names.filter(doesCount);
  if (names.length > MAX_GRANT_FILES) return problem(`holds ${names.length} grant files, expected ${MAX_GRANT_FILES} at most`);
  const entries = names.map((name) => lookAtEntry(directory, real, name, files));
  const bytes = entries.reduce((sum, { looked }) => sum + sizeOf(looked), 0n);
  if (bytes > MAX_GRANTS_BYTES) return problem(`holds ${bytes} bytes of grant files, expected ${MAX_GRANTS_BYTES} at most`);
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
      return "is a link, expected a file of its own";
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
export function latestChange({ directory, entries, folders }: DirectoryLook): number | undefined {
  const times = [directory, ...folders, ...entries.map(({ looked }) => looked)].flatMap((looked) =>
    "ctimeNs" in looked ? [looked.ctimeNs] : [],
  );
  const latest = times.reduce<bigint | undefined>((max, time) => (max === undefined || time > max ? time : max), undefined);
  return latest === undefined ? undefined : Number(latest / 1_000_000n);
}
