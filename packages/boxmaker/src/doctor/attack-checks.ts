/** What brokerd's own attacks on its sandbox came to, each as a check. */
import { readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import { daemonProgram } from "../roles/role-program.ts";
import type { Check } from "./check.ts";
import { childLines } from "./child-lines.ts";

/** A line of `brokerd attack`. */
const AttackLine = z.strictObject({
  attack: z.string(),
  box: z.enum(["cold", "waiting"]),
  result: z.enum(["held", "failed", "skipped"]),
  tried: z.string(),
  seen: z.string(),
});

const RESULTS = { held: "ok", failed: "failed", skipped: "skipped" } as const;
const POINTER = "see docs/runbook.md#attack-got-through";

/**
 * Has brokerd attack the sandbox that its configuration names.
 *
 * @param only the attacks by name; all where it's empty
 */
export async function attackSandbox(
  config: string,
  only: readonly string[],
  stop: AbortSignal,
  onCheck: (check: Check) => void,
): Promise<void> {
  const names = only.flatMap((name) => ["--only", name]);
  let failures = 0;
  const take = (line: string): void => {
    const reading = readForeignJson(line);
    const parsed = reading.kind === "value" ? AttackLine.safeParse(reading.value) : undefined;
    if (parsed?.success !== true) return;
    const { attack, box, result, tried, seen } = parsed.data;
    if (result === "failed") failures++;
    const text = result === "failed" ? `${tried}: ${seen}; ${POINTER}` : `${tried}: ${seen}`;
    onCheck({ name: box === "waiting" ? `${attack} (waiting box)` : attack, result: RESULTS[result], text });
  };
  const { status, lastError } = await childLines(daemonProgram("brokerd", ["attack", "--config", config, ...names]), stop, take);
  if (status === 0 || (status === 1 && failures > 0)) return;
  onCheck({ name: "attack", result: "failed", text: lastError.replace(/^brokerd: /u, "") || "brokerd ended without a word" });
}
