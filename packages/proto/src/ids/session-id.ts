/** The id of one conversation. */
import { z } from "zod";

/** `[a-z0-9][a-z0-9-]{0,63}`; also the name of the session's folder on disk, hence no `/` and no `.`. */
export const SessionId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/u, "expected [a-z0-9][a-z0-9-]{0,63}")
  .brand<"SessionId">();
export type SessionId = z.infer<typeof SessionId>;
