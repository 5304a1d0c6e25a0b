/** The box's own places: a grant that names, holds or lies in one is invalid, or a box could change the box. */
import { dirname, join } from "node:path";
import { AbsPath } from "@boxmaker/proto";
import type { Config } from "./config.ts";

const IN_HOME = ["run", "audit", "broker", "sessions", "memory", "gateway", "etc"];

/** Directories and files that brokerd and the other roles go by. */
export function ownPlaces(config: Config): readonly AbsPath[] {
  const { home, file, auditDirectory, grantsDirectory, toolsFile, labelsFile, sockets, sessions } = config;
  const socketDirectories = [sockets.broker, sockets.brokerMcp, sockets.admin].flatMap((path) =>
    path === null ? [] : [dirname(path)],
  );
  const places = [
    ...IN_HOME.map((name) => join(home, name)),
    ...socketDirectories,
    file,
    auditDirectory,
    grantsDirectory,
    toolsFile,
    labelsFile,
    sessions.memory,
  ];
  return [...new Set(places)].map((path) => AbsPath.parse(path));
}
