/** The answer that any socket may give instead of the one that was asked for. */
import { z } from "zod";
import { message } from "./message.ts";

export const ErrorCode = z.enum([
  "bad_version",
  "bad_message",
  "bad_frame",
  "forbidden",
  "limit",
  "busy",
  "internal",
  "no_such_approval",
  "session_exists",
  "no_such_session",
  "no_such_turn",
  "session_busy",
  "session_full",
  "turn_limit",
  "inference",
  "cancelled",
]);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** `detail` is fixed or escaped text, never a peer's raw bytes. */
export const ErrorMessage = message("error", { code: ErrorCode, detail: z.string() });
export type ErrorMessage = z.infer<typeof ErrorMessage>;
