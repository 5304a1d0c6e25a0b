/** llama-server's failures in the middle of a stream that none of its own settings forestalls. */
import { event } from "./recording.ts";

const HEAD = { created: 1_790_000_000, id: "chatcmpl-a1", model: "m", object: "chat.completion.chunk" };
const BEGUN = event({ ...HEAD, choices: [{ finish_reason: null, index: 0, delta: { content: "Hel" } }] });

/** Where slots share one memory, all that run fail when it is full. */
export const UNIFIED_OVERFLOW = `${BEGUN}${event({ error: { code: 500, message: "Context size has been exceeded.", type: "server_error" } })}`;

/** A router whose model was unloaded in the middle: not an event, and no end of a line. */
export const ROUTER_EVICTION = `${BEGUN}proxy error: Failed to read connection`;
