/** The box's own places, which no grant may name, hold or lie in: a box could change the box. */
import { join } from "node:path";
import { AbsPath } from "@boxmaker/proto";

const IN_HOME = ["run", "audit", "broker", "sessions", "memory", "gateway", "etc"];

/** The directories in a home, and those that its configuration puts elsewhere. */
export function boxPlaces(home: AbsPath, elsewhere: readonly AbsPath[]): readonly AbsPath[] {
  return [...new Set([...IN_HOME.map((name) => AbsPath.parse(join(home, name))), ...elsewhere])];
}
