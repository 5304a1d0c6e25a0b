/** Waits of the runner's tests: for a file that a box makes, and for processes that end. */
import { readdirSync } from "node:fs";
import { countProcesses } from "./sandboxes.ts";
import type { TemporaryFolder } from "./temporary-folder.ts";

export async function untilThere(folder: TemporaryFolder, name: string): Promise<void> {
  while (!readdirSync(folder.path).includes(name)) await new Promise((resolve) => setTimeout(resolve, 20));
}

export async function untilGone(marker: string): Promise<void> {
  while (countProcesses(marker) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
