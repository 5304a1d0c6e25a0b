/** Cuts the events of a streamed reply out of its bytes, as they arrive. */
import { escapeText } from "@boxmaker/proto";
import { createParser } from "eventsource-parser";
import { CompletionError } from "./model-error.ts";

const MAX_QUOTED = 200;

/**
 * Yields the data of each event as soon as its last byte is there. Comments (the server's pings) yield nothing.
 *
 * @param maxEventBytes bound on one event, in UTF-16 units
 * @throws {CompletionError} `bad_reply` for bytes that aren't UTF-8, lines that aren't of an event stream, or an event too large
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>, maxEventBytes: number): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const ready: string[] = [];
  let fault: string | undefined;
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: ({ data }) => ready.push(data),
    onError: (error) => {
      if (error.type === "invalid-retry") return;
      const line = escapeText((error.line ?? "").slice(0, MAX_QUOTED));
      fault ??= error.type === "unknown-field" ? `expected an event stream, got the line "${line}"` : "an event is too large";
    },
  });
  for await (const piece of body) {
    if (piece.length === 0) continue;
    try {
      parser.feed(decoder.decode(piece, { stream: true }));
    } catch (error) {
      // The decoder throws for bytes that aren't UTF-8 and the parser after an overflow: no reply either way.
      throw new CompletionError("bad_reply", fault ?? "the reply is not UTF-8", { cause: error });
    }
    // What was whole before the fault still counts: it has happened.
    yield* ready.splice(0);
    if (fault !== undefined) throw new CompletionError("bad_reply", fault);
  }
}
