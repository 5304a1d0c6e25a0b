/** What we use of the model servers' formats. They are others' formats: unknown keys are ignored, and most keys may be missing. */
import { z } from "zod";

const Text = z.string().nullish();
/** A token count; some servers leave it out, and a rate beside it may be null. So bounded that sums of a session's stay exact. */
const Count = z
  .int()
  .min(0)
  .max(2 ** 32);

export const ToolCallPiece = z.looseObject({
  index: Count.nullish(),
  id: Text,
  function: z.looseObject({ name: Text, arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish() }).nullish(),
});
export type ToolCallPiece = z.infer<typeof ToolCallPiece>;

const Delta = z.looseObject({
  content: Text,
  reasoning_content: Text,
  reasoning: Text,
  tool_calls: z.array(ToolCallPiece).nullish(),
});

export const Timings = z.looseObject({ cache_n: Count.nullish(), prompt_n: Count, predicted_n: Count });

const ServerUsage = z.looseObject({
  prompt_tokens: Count,
  completion_tokens: Count,
  prompt_tokens_details: z.looseObject({ cached_tokens: Count.nullish() }).nullish(),
});

/** One event of a stream. An `error` of any shape makes the whole reply a failure. */
export const Chunk = z.looseObject({
  id: Text,
  choices: z.array(z.looseObject({ index: Count.nullish(), finish_reason: Text, delta: Delta.nullish() })).nullish(),
  // Numbers that nobody can use are no reason to lose a reply.
  usage: ServerUsage.nullish().catch(null),
  timings: Timings.nullish().catch(null),
  prompt_progress: z.looseObject({ total: Count, processed: Count }).nullish().catch(null),
  error: z.unknown().optional(),
});
export type Chunk = z.infer<typeof Chunk>;

/** The body of a refusal, or an event with an error: `{error: {message, type, …}}`, `{error: text}` or `{message, …}`. */
export const ServerError = z.record(z.string(), z.unknown());

/** `/props` of llama-server. `total_slots` is what other servers don't have. */
export const Props = z.looseObject({
  total_slots: Count.min(1),
  default_generation_settings: z.looseObject({ n_ctx: Count }),
  chat_template: Text,
  build_info: Text,
  model_alias: Text,
  role: Text,
});

export const SlotList = z.array(z.looseObject({ id: Count, is_processing: z.boolean() }));
export const TokenCount = z.looseObject({ input_tokens: Count });
export const Tokens = z.looseObject({ tokens: z.array(z.unknown()) });
export const ControlAnswer = z.looseObject({ success: z.boolean() });
