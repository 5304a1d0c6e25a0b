/** What a long conversation costs loopd on disk and in memory, and what many at once do. */
import type { Figure } from "./figure/figure.ts";
import { measureLongSession } from "./loop/long-session.ts";
import { measureMany } from "./loop/many-sessions.ts";

export async function run(): Promise<readonly Figure[]> {
  return [...(await measureLongSession()), ...(await measureMany())];
}
