/** Files of the runner's own, which boxes get. */
import { randomBytes } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { AbsPath } from "@boxmaker/proto";

/** Puts a file into the directory, replacing what an earlier brokerd left there: boxes that still hold that one keep it. */
export async function placeFile(directory: AbsPath, name: string, content: string, mode: number): Promise<AbsPath> {
  const path = AbsPath.parse(`${directory}/${name}`);
  const temporary = `${path}.${randomBytes(8).toString("hex")}`;
  await writeFile(temporary, content, { mode, flag: "wx" });
  await rename(temporary, path);
  return path;
}
