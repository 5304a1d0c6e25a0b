/** A folder for one test, by its real path, removed with everything in it. Not in /tmp, which boxes have one of their own of. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import type { AbsPath } from "@boxmaker/proto";
import { absPath } from "./decisions.ts";

export interface TemporaryFolder extends Disposable {
  readonly path: AbsPath;
  /** The path of something in it. */
  at(name: string): AbsPath;
}

export function temporaryFolder(): TemporaryFolder {
  const path = absPath(realpathSync(mkdtempSync("/var/tmp/boxmaker-runner-")));
  return {
    path,
    at: (name) => absPath(`${path}/${name}`),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
