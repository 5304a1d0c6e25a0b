/**
 * Streams tiny completions, and finds by them whether the server's settings lose a session's cache or can mix sessions up: no server says
 * how it was started.
 */
import { canonicalJson } from "@boxmaker/proto";
import type { Completion } from "../model/completion.ts";
import type { ModelClient } from "../model/model-client.ts";
import { CompletionError } from "../model/model-error.ts";
import { mismatch, report, SETTINGS, type SelftestReport } from "./report.ts";

const FIRST_TEXT =
  "Say yes. The old lighthouse keeper counted ninety ships that night, and wrote each of their names into a long blue book.";
const OTHER_TEXT =
  "Say no. Every morning seven bakers carry warm bread across the market square before the church bells begin to ring.";

/** One completion of a single token. @throws {CompletionError} */
async function completeOnce(client: ModelClient, text: string, slot: number | null, signal: AbortSignal): Promise<Completion> {
  const messages = [canonicalJson({ role: "user", content: text })];
  const result = await client.complete({ messages, tools: "[]", slot }, () => undefined, signal);
  if (result.kind === "failed") throw new CompletionError(result.error.code, result.error.detail);
  return result.completion;
}

/** One tiny completion, on no slot in particular. @throws {CompletionError} */
export async function probeStream(client: ModelClient, signal: AbortSignal): Promise<SelftestReport> {
  await completeOnce(client, FIRST_TEXT, null, signal);
  return report(["completion: streamed to its end"]);
}

/**
 * The same on the slots of a llama-server, all of which must be empty: what they held is lost.
 *
 * @throws {CompletionError}
 */
export async function probeSlots(client: ModelClient, slots: number, signal: AbortSignal): Promise<SelftestReport> {
  const cachedOf = async (text: string, slot: number): Promise<number> =>
    (await completeOnce(client, text, slot, signal)).cacheHit ?? 0;
  const { usage } = await completeOnce(client, FIRST_TEXT, 0, signal);
  const streamed = "completion: streamed to its end";
  const half = usage.prompt / 2;
  if ((await cachedOf(FIRST_TEXT, 0)) < half)
    return report([streamed, "cache: the server reads a prompt anew that it has just read, as it does with some models"]);
  const warnings: string[] = [];
  if (slots > 1) {
    await completeOnce(client, OTHER_TEXT, 1, signal);
    const kept = await cachedOf(FIRST_TEXT, 0);
    if (kept < half)
      warnings.push(mismatch("cache of slot 0 after a request on slot 1", `nearly ${usage.prompt} tokens`, kept, SETTINGS));
  }
  // What both prompts begin with, by the chat template, is in the slot either way.
  const shared = await cachedOf(OTHER_TEXT, 0);
  const restored = await cachedOf(FIRST_TEXT, 0);
  if (restored - shared > (usage.prompt - shared) / 2)
    warnings.push(mismatch("prompts kept in memory beside the slots", "none (--cache-ram 0)", `${restored} tokens`, SETTINGS));
  return report([streamed, ...(warnings.length === 0 ? ["cache: each slot keeps its own"] : [])], { warnings });
}
