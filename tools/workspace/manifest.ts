/** The package.json files of this repository, as the build reads and writes them. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The repository's folder. */
export const ROOT = join(import.meta.dirname, "..", "..");

/** The parts of a package.json that the build looks at; the rest is carried along. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** One package of the workspace: its folder's name under packages/, and its manifest. */
export interface WorkspacePackage {
  readonly folder: string;
  readonly manifest: Manifest;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

export function writeManifest(folder: string, manifest: object): void {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Every package of the workspace, by name. @throws {Error} when there is none: the build would make nothing */
export function readWorkspace(): readonly WorkspacePackage[] {
  const folders = globSync("*/package.json", { cwd: join(ROOT, "packages") }).map(dirname);
  if (folders.length === 0) throw new Error("expected packages/*/package.json, found none");
  return folders.sort().map((folder) => ({ folder, manifest: readManifest(join(ROOT, "packages", folder)) }));
}
