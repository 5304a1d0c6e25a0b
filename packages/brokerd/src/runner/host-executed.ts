/**
 * Files that programs of the host run, or take commands from, by their place alone: a box that may write them could act outside
 * later. They are read-only in a box unless its grant says `host_exec = true`.
 */
import { lstatSync, readdirSync } from "node:fs";
import { AbsPath } from "@boxmaker/proto";

/** Relative paths of one or more components, wherever they stand in a tree. */
const PLACES: readonly (readonly string[])[] = [
  ".bash_login",
  ".bash_logout",
  ".bash_profile",
  ".bashrc",
  ".config/autostart",
  ".config/fish",
  ".config/systemd",
  ".devcontainer",
  ".direnv",
  ".envrc",
  ".git/config",
  ".git/hooks",
  ".githooks",
  ".gitconfig",
  ".husky",
  ".idea",
  ".local/bin",
  ".local/share/applications",
  ".mise.toml",
  ".pre-commit-config.yaml",
  ".profile",
  ".vim",
  ".vimrc",
  ".vscode",
  ".xprofile",
  ".xsession",
  ".zlogin",
  ".zprofile",
  ".zshenv",
  ".zshrc",
].map((place) => place.split("/"));

/** How many folders directly below a mount are looked through: a folder of projects. */
const MAX_FOLDERS = 256;

/** Whether the path is in such a place, or is one. */
export function isHostExecuted(path: AbsPath): boolean {
  const components = path.split("/");
  return components.some((_, start) => PLACES.some((place) => place.every((name, index) => components[start + index] === name)));
}

/** The places that exist in a folder and in the folders directly below it; none for a file. */
export function findHostExecuted(root: AbsPath): readonly AbsPath[] {
  if (!lstatSync(root).isDirectory()) return [];
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const parents = [root, ...folders.slice(0, MAX_FOLDERS).map(({ name }) => `${root}/${name}`)];
  return parents.flatMap((parent) =>
    PLACES.map((place) => AbsPath.safeParse(`${parent}/${place.join("/")}`)).flatMap((path) =>
      path.success && isThere(path.data) ? [path.data] : [],
    ),
  );
}

/** Whether something is there, be it a link. A parent that is no folder holds nothing. */
function isThere(path: AbsPath): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return false;
    throw error;
  }
}
