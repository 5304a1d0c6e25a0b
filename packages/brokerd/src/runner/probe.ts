/** Starts one box at the start of brokerd, so that a sandbox that can't work is refused then and not at the first call. */
import { AbsPath, BoxRun, encodeMessage } from "@boxmaker/proto";
import { startBox } from "./box-process.ts";
import type { Launcher } from "./sandbox-runtime.ts";

const LIMIT_MS = 30_000;
const OUTPUT_CAP = 1024;
/** Granted to nobody: a box that works refuses to read it. */
const PROBE_PATH = AbsPath.parse("/opt/boxmaker/toolkit.mjs");

/** Returns why boxes of this kind can't run, or nothing when they can. */
export async function probe(launcher: Launcher): Promise<string | undefined> {
  const request = { tool: "read_file", arguments: { path: PROBE_PATH } } as const;
  const message = { kind: "box_run", body: { request, roots: [], mounts: null, output_cap: OUTPUT_CAP, fetch: null } } as const;
  const input = encodeMessage(BoxRun, { id: 1, final: true, message });
  const never = new AbortController().signal;
  const box = startBox(launcher.launch({ layers: [], egress: null }, LIMIT_MS), {
    input,
    limitMs: LIMIT_MS,
    outputCap: OUTPUT_CAP,
    signal: never,
  });
  const outcome = await box.answer;
  await box.ended;
  if (outcome.kind === "error") return outcome.detail;
  return outcome.status === "failed" ? undefined : "a box read a file that was not granted";
}
