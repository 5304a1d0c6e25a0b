/** What a list of sessions says about each, without reading more of it than it must. */
import { readFile, stat } from "node:fs/promises";
import { listEpochs, logFile } from "@boxmaker/edge/session-files";
import { type Origin, parseJson, SessionRecord } from "@boxmaker/proto";

/** A session at a glance. */
export interface SessionGlance {
  readonly origin: Origin;
  readonly turns: number;
  /** When it was written last, in milliseconds. */
  readonly modified: number;
}

const USER_LINE = '{"kind":"user",';
const CARRYING_LINE = /^\{"kind":"epoch_end","carry":"(?:turn|message)"/u;

/** A turn that is carried into the next epoch is counted there. */
function turnsIn(lines: readonly string[]): number {
  return lines.reduce((turns, line) => turns + (line.startsWith(USER_LINE) ? 1 : CARRYING_LINE.test(line) ? -1 : 0), 0);
}

/** Reads the logs' first line and counts the turns. Undefined where there is no log, or its first line can't be read. */
export async function glance(folder: string): Promise<SessionGlance | undefined> {
  let seen: SessionGlance | undefined;
  for (const epoch of await listEpochs(folder)) {
    const path = logFile(folder, epoch);
    const [first = "", ...lines] = (await readFile(path, "utf8")).split("\n");
    const start = parseJson(SessionRecord, first);
    if (start.kind === "invalid" || start.value.kind !== "session_start") return undefined;
    const { origin } = start.value;
    seen = { origin, turns: (seen?.turns ?? 0) + turnsIn(lines), modified: (await stat(path)).mtimeMs };
  }
  return seen;
}
