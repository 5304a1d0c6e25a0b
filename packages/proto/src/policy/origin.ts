/** Where a session came from: a socket, and perhaps another session. */
import { z } from "zod";
import { CallId, SafeInteger } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";

/** The kind of socket that a session arrived on. */
export const Origin = z.enum(["terminal", "gateway", "mcp"]);
export type Origin = z.infer<typeof Origin>;

/** Where a rewound session was cut off: the first `turn` turns of `session`, whose last call was `call` (0 where they made none). */
export const RewindPoint = z.strictObject({ session: SessionId, turn: SafeInteger, call: CallId }).readonly();
export type RewindPoint = z.infer<typeof RewindPoint>;
