/** How tests tell a request for a summary from a turn's. */
import type { RecordedRequest } from "@boxmaker/demo-model";
import { told } from "./loop-client.ts";

export function isSummaryRequest({ chat }: RecordedRequest): boolean {
  return told(chat.messages.at(-1)).startsWith("This conversation is about to be cut off to make room.");
}

/** The system prompt that a request began with. */
export function systemOf(request: RecordedRequest | undefined): string {
  return told(request?.chat.messages[0]);
}

/** A text of so many of the scripted server's tokens. */
export function longText(tokens: number, word = "word"): string {
  return Array.from({ length: tokens }, () => word).join(" ");
}
