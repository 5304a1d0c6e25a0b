/**
 * Files that programs of the host run, or take commands from, by their place alone: a box that may write them could act outside
 * later. They are read-only in a box unless its grant says `host_exec = true`.
 */
import type { AbsPath } from "@boxmaker/proto";

/** Relative paths of one or more components, wherever they stand in a tree. */
export const HOST_EXECUTED_PLACES: readonly (readonly string[])[] = [
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

/** Whether the path is in such a place, or is one. */
export function isHostExecuted(path: AbsPath): boolean {
  const components = path.split("/");
  return components.some((_, start) =>
    HOST_EXECUTED_PLACES.some((place) => place.every((name, index) => components[start + index] === name)),
  );
}
