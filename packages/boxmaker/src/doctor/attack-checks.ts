/** What brokerd's own attacks on its sandbox came to, each as a check. */
import { quoteText, readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import { daemonProgram, type Program } from "../roles/role-program.ts";
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

/** brokerd's own attacks under a configuration: those by name, or all where none is named. */
export function attackProgram(config: string, only: readonly string[]): Program {
  return daemonProgram("brokerd", ["attack", "--config", config, ...only.flatMap((name) => ["--only", name])]);
}

/** Runs {@link attackProgram}, and tells of each attack. What says nothing, or nothing that can be understood, is a failed check. */
export async function attackSandbox(program: Program, stop: AbortSignal, onCheck: (check: Check) => void): Promise<void> {
  let findings = 0;
  let failures = 0;
  const take = (line: string): void => {
    const reading = readForeignJson(line);
    const parsed = reading.kind === "value" ? AttackLine.safeParse(reading.value) : undefined;
    if (parsed?.success !== true) {
      failures++;
      onCheck({ name: "attack", result: "failed", text: `brokerd said ${quoteText(line)}, which tells of no attack; ${POINTER}` });
      return;
    }
    findings++;
    const { attack, box, result, tried, seen } = parsed.data;
    if (result === "failed") failures++;
    const text = result === "failed" ? `${tried}: ${seen}; ${POINTER}` : `${tried}: ${seen}`;
    onCheck({ name: box === "waiting" ? `${attack} (waiting box)` : attack, result: RESULTS[result], text });
  };
  const { status, lastError } = await childLines(program, stop, take);
  if (!stop.aborted && findings > 0 && (status === 0 || (status === 1 && failures > 0))) return;
  onCheck({ name: "attack", result: "failed", text: lastError.replace(/^brokerd: /u, "") || "brokerd ended without a word" });
}
