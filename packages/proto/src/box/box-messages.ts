/** What goes into a box and comes out of it: one frame each way, on standard input and output. */
import { z } from "zod";
import { SafeInteger } from "../ids/integers.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { ToolCall } from "../tools/tool-call.ts";
import { message } from "../wire/message.ts";

/**
 * What a fetch is told beside its URL. `follow_redirects`: whether one to the same host is followed in this call; `limit_ms` is for all
 * of its hops, and shorter than what the box has, so that the tool can still say what it waited for.
 */
const FetchTerms = z.strictObject({ follow_redirects: z.boolean(), limit_ms: SafeInteger.min(1) }).readonly();

/**
 * A mount of the box. `source` is what was at that path on the host when the call was decided about: `device:inode`, in decimal digits;
 * `shown` whether that is to be seen there, or something else over it.
 */
const BoxMount = z
  .strictObject({ path: AbsPath, source: z.string().regex(/^[0-9]{1,20}:[0-9]{1,20}$/u), shown: z.boolean() })
  .readonly();

/**
 * The whole of what a box is told. `roots` are the granted paths of the call (a file tool refuses paths outside them); `mounts` is
 * what the box has to find itself made of, or null where files have other numbers in it; `output_cap` is in bytes; `fetch` is null where
 * the box has no way to the network.
 */
export const BoxRun = message("box_run", {
  request: ToolCall,
  roots: z.array(AbsPath).readonly(),
  mounts: z.array(BoxMount).readonly().nullable(),
  output_cap: SafeInteger.min(1),
  fetch: FetchTerms.nullable(),
});
export type BoxRun = z.infer<typeof BoxRun>;

/** `ok`: the tool did what was asked (any exit status of a shell command counts); `failed`: it says in `content` why not. */
export const BoxDone = message("box_done", {
  status: z.enum(["ok", "failed"]),
  content: z.string(),
  truncated: z.boolean(),
});
export type BoxDone = z.infer<typeof BoxDone>;
