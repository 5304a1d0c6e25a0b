/** The box's own places: a grant that names, holds or lies in one is invalid, or a box could change the box. */
import { dirname } from "node:path";
import { boxPlaces } from "@boxmaker/policy/grants";
import { AbsPath } from "@boxmaker/proto";
import { type Config, socketPaths } from "./config.ts";

/** Directories and files that brokerd and the other roles go by. */
export function ownPlaces(config: Config): readonly AbsPath[] {
  const { home, file, auditDirectory, grantsDirectory, toolsFile, labelsFile, sessions } = config;
  const socketDirectories = socketPaths(config).map((path) => AbsPath.parse(dirname(path)));
  return boxPlaces(home, [...socketDirectories, file, auditDirectory, grantsDirectory, toolsFile, labelsFile, sessions.memory]);
}
