/** What a list of sessions says about each, without reading more of it than it must. */
import { readFile } from "node:fs/promises";
import { type Origin, parseJson, SessionRecord } from "@boxmaker/proto";

/** A session at a glance. */
export interface SessionGlance {
  readonly origin: Origin;
  readonly turns: number;
}

const USER_LINE = '{"kind":"user",';

/** Reads a log's first line and counts its user lines. Undefined where the first line can't be read. */
export async function glance(logPath: string): Promise<SessionGlance | undefined> {
  const text = await readFile(logPath, "utf8");
  const [first = "", ...lines] = text.split("\n");
  const start = parseJson(SessionRecord, first);
  if (start.kind === "invalid" || start.value.kind !== "session_start") return undefined;
  return { origin: start.value.origin, turns: lines.filter((line) => line.startsWith(USER_LINE)).length };
}
