/**
 * Looks through the folders that a command's box would hold for what has to be covered wherever it stands: places of credentials,
 * and files that programs of the host execute.
 */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { CREDENTIAL_PLACES } from "@boxmaker/policy";
import { AbsPath, decodeUtf8, quoteText } from "@boxmaker/proto";
import { HOST_EXECUTED_PLACES } from "./host-executed.ts";

/** More than this isn't looked through: then nothing runs, since what wasn't seen can't be covered. */
const MAX_ENTRIES = 200_000;

export interface FoundPlaces {
  /** Places of credentials, and folders that can't be listed, which could hold some. */
  readonly hidden: readonly AbsPath[];
  readonly hostExecuted: readonly AbsPath[];
}

interface Step {
  readonly place: readonly string[];
  /** Which component of the place this name is. */
  readonly index: number;
  readonly kind: keyof FoundPlaces;
}

function stepsByName(): ReadonlyMap<string, readonly Step[]> {
  const steps = new Map<string, Step[]>();
  const all = [
    ...CREDENTIAL_PLACES.map((place) => ({ place: place.split("/"), kind: "hidden" }) as const),
    ...HOST_EXECUTED_PLACES.map((place) => ({ place, kind: "hostExecuted" }) as const),
  ];
  for (const { place, kind } of all) {
    for (const [index, name] of place.entries()) steps.set(name, [...(steps.get(name) ?? []), { place, index, kind }]);
  }
  return steps;
}

const STEPS = stepsByName();

/** A path byte by byte, so that a name that isn't UTF-8 is looked into as well. The places are all ASCII. */
type BytePath = string;

function bytesOf(path: BytePath): Buffer {
  return Buffer.from(path, "latin1");
}

/**
 * The places below `root`, at any depth, that exist. Links aren't followed, but one that stands where a place begins is taken for the
 * place: whoever covers it covers what it leads to.
 *
 * @param limit how many entries are looked at, at most
 * @throws {Error} when not all of it can be looked through, or what was found can't be covered
 */
export async function findPlaces(root: AbsPath, limit: number = MAX_ENTRIES): Promise<FoundPlaces> {
  const found: Record<keyof FoundPlaces, AbsPath[]> = { hidden: [], hostExecuted: [] };
  const top = Buffer.from(root).toString("latin1");
  const waiting: BytePath[] = [top];
  let left = limit;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await list(folder, folder === top);
    if (entries === undefined) {
      found.hidden.push(mountable(folder));
      continue;
    }
    left -= entries.length;
    if (left < 0) throw new Error(`more than ${limit} files and folders below ${quoteText(root)}: too many to look through`);
    for (const entry of entries) {
      const name = entry.name.toString("latin1");
      const places = placesAt(folder, name, entry.isSymbolicLink());
      for (const { path, kind } of places) found[kind].push(mountable(path));
      if (entry.isDirectory() && !places.some(({ kind }) => kind === "hidden")) waiting.push(`${folder}/${name}`);
    }
  }
  return found;
}

/** Undefined where the folder can't be listed by us: the box may be able to, once it has changed the folder's mode. */
async function list(folder: BytePath, isRoot: boolean): Promise<readonly Dirent<Buffer>[] | undefined> {
  try {
    return await readdir(bytesOf(folder), { withFileTypes: true, encoding: "buffer" });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (isRoot || (code !== "ENOENT" && code !== "ENOTDIR" && code !== "EACCES")) throw error;
    // It went while we looked, so that nothing of it is left to be covered; or it is hidden whole.
    return code === "EACCES" ? undefined : [];
  }
}

/** Which places the entry is, or leads to. */
function placesAt(folder: BytePath, name: string, isLink: boolean): readonly { path: BytePath; kind: keyof FoundPlaces }[] {
  const path = `${folder}/${name}`;
  return (STEPS.get(name) ?? []).flatMap(({ place, index, kind }) => {
    if (!path.endsWith(`/${place.slice(0, index + 1).join("/")}`)) return [];
    const rest = place.slice(index + 1);
    if (rest.length === 0) return [{ path, kind }];
    return isLink ? [{ path: `${path}/${rest.join("/")}`, kind }] : [];
  });
}

/** A place in a folder whose name can't be written down can't be covered. */
function mountable(path: BytePath): AbsPath {
  const bytes = bytesOf(path);
  const parsed = AbsPath.safeParse(decodeUtf8(bytes));
  if (!parsed.success) throw new Error(`${quoteText(bytes.toString("utf8"))} has to be covered, but can't be mounted over`);
  return parsed.data;
}
