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

/** What a root is on the host: `device:inode`, in decimal digits. */
const Source = z.string().regex(/^[0-9]{1,20}:[0-9]{1,20}$/u);

/**
 * The whole of what a box is told. `roots` are the mounts of the call (a file tool refuses paths outside them); `sources` are what was
 * decided about at each of them, or null where files have other numbers in the box; `output_cap` is in bytes; `fetch` is null where the
 * box has no way to the network.
 */
export const BoxRun = message("box_run", {
  request: ToolCall,
  roots: z.array(AbsPath).readonly(),
  sources: z.array(Source).readonly().nullable(),
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
