/** The processes of boxes as the host sees them. */
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "@boxmaker/edge/log";

/** A process by its number, and its command line with a space between arguments. */
export interface SeenProcess {
  readonly id: string;
  readonly command: string;
}

const POLL_MS = 20;
const NEVER = new AbortController().signal;
const MAX_MARK = 2 ** 40;

/** A number of seconds for sleep that no other process sleeps. */
export function sleepMark(): string {
  return `1000.${randomInt(MAX_MARK)}`;
}

/** What is read of a process; undefined once it is gone. */
export function readProcess(id: string, file: "cmdline" | "status"): string | undefined {
  try {
    return readFileSync(`/proc/${id}/${file}`, "utf8");
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** Whether there is a process of this number that this one may send a signal to. */
export function isAlive(id: number): boolean {
  try {
    return process.kill(id, 0);
  } catch {
    // Gone; or another user's, which has its number now.
    return false;
  }
}

/** Those that have the text in their command line. */
export function processesWith(text: string): readonly SeenProcess[] {
  return readdirSync("/proc")
    .filter((name) => /^[0-9]+$/u.test(name))
    .flatMap((id) => {
      const command = readProcess(id, "cmdline")?.replaceAll("\0", " ");
      return command?.includes(text) === true ? [{ id, command }] : [];
    });
}

/** Waits until it is so, at most `withinMs`; says whether it was. */
export async function waitUntil(clock: Clock, withinMs: number, isSo: () => boolean): Promise<boolean> {
  const end = AbortSignal.timeout(withinMs);
  while (!isSo()) {
    if (end.aborted) return isSo();
    await clock.sleep(POLL_MS, NEVER);
  }
  return true;
}
