/** The lines that events and ends of turns are shown as. All are printable: names and details of others are escaped. */
import { type DataClass, escapeText, quoteText, type TurnEvent, unreachable } from "@boxmaker/proto";
import { phraseDenial } from "../approvals/denial-phrase.ts";
import type { TurnEnd } from "./run-turn.ts";

/** How loud a line is. */
export type Tone = "quiet" | "plain" | "warn" | "bad";

/** What to show of an event: a line that stays, or one that goes as soon as there is anything else. */
export type Shown =
  | { readonly kind: "line"; readonly tone: Tone; readonly text: string }
  | { readonly kind: "status"; readonly text: string }
  | { readonly kind: "nothing" };

/** Events that are shown as lines; texts are blocks, and an ask has a block of its own. */
export type LineEvent = Exclude<TurnEvent, { readonly event: "reasoning" | "text" | "approval_pending" }>;

const SIMPLE_NAME = /^[A-Za-z0-9_.-]{1,64}$/u;

/** A tool's name as the model wrote it: in quotes unless it is a plain word. */
export function phraseTool(tool: string): string {
  return SIMPLE_NAME.test(tool) ? tool : quoteText(tool);
}

function line(tone: Tone, text: string): Shown {
  return { kind: "line", tone, text };
}

function phraseTaint(from: DataClass, to: DataClass, untrusted: boolean, tool: string): string {
  const rise = from === to ? `has seen ${to} data` : `has now seen ${to} data (${from} before)`;
  return `this session ${rise}${untrusted ? " and text of strangers" : ""}, by ${phraseTool(tool)}`;
}

/** How an event is shown to the owner. */
export function showEvent(event: LineEvent): Shown {
  switch (event.event) {
    case "queued":
      return { kind: "status", text: event.ahead === 0 ? "queued: next" : `queued: ${event.ahead} ahead` };
    case "waiting":
      return {
        kind: "status",
        text: event.slot_busy ? "waiting: the model is busy with another request" : "waiting for the model",
      };
    case "progress":
      return { kind: "status", text: `reading the conversation: ${event.done} of ${event.total} tokens` };
    case "thinking_capped":
      return line("quiet", "thinking was cut short at its limit");
    case "discarded":
      return line("warn", "the reply was lost on its way: what is shown of it above is discarded");
    case "retrying":
      return line("warn", `the model server failed (${escapeText(event.error)}); attempt ${event.attempt} in ${event.after_ms} ms`);
    case "tool_call":
      return { kind: "status", text: `${phraseTool(event.tool)} …` };
    case "tool_denied":
      return line("bad", `${phraseTool(event.tool)}: denied: ${phraseDenial(event.reason)}`);
    case "tool_failed":
      return line("warn", `${phraseTool(event.tool)}: failed: ${escapeText(event.message)}`);
    case "tool_result":
      return line("plain", `${phraseTool(event.tool)}: done, ${event.class}${event.truncated ? ", truncated" : ""}`);
    case "taint":
      return line("warn", phraseTaint(event.from, event.to, event.untrusted, event.tool));
    case "cache_loss":
      return line("quiet", `the model read the conversation again: ${event.cached} of ${event.expected} tokens were still cached`);
    case "epoch":
      return line("quiet", `the conversation was summed up to make room (epoch ${event.number})`);
    default:
      return unreachable(event);
  }
}

/** The one line of a turn that has no answer. */
export function phraseFailedEnd(end: Exclude<TurnEnd, { readonly kind: "done" }>): string {
  switch (end.kind) {
    case "refused":
      return end.code === "cancelled" ? "turn cancelled" : `turn failed: ${end.code}: ${end.detail}`;
    case "lost":
      return `turn failed: ${end.problem}`;
    case "left":
      return "left in the middle of the turn";
    default:
      return unreachable(end);
  }
}
