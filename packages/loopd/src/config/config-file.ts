/** The shape of loopd's configuration file: every key with its default. Zero limits are refused: none of them means "no limit". */
import { SafeInteger } from "@boxmaker/proto";
import { z } from "zod";

const PathText = z.string().min(1);
const Limit = SafeInteger.min(1);
/** Milliseconds, at most a day: nothing here waits longer. */
const Milliseconds = Limit.max(86_400_000);
/** A number with a fraction, written as a string: TOML's own floats are refused, because they have many spellings. */
const Decimal = z.string().regex(/^(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,6})?$/u, 'expected a decimal number in quotes, such as "0.7"');

const Sockets = z.strictObject({
  loop: PathText.optional(),
  loop_gateway: PathText.optional(),
  infer: PathText.optional(),
  broker: PathText.optional(),
});

const Loop = z.strictObject({
  connections: Limit.max(10_000).default(128),
  turns: Limit.max(10_000).default(64),
  read_deadline_ms: Milliseconds.default(10_000),
  write_deadline_ms: Milliseconds.default(30_000),
  stop_grace_ms: Milliseconds.default(5_000),
});

const Infer = z.strictObject({
  server: z.enum(["auto", "llama-server", "openai"]).default("auto"),
  connect_ms: Milliseconds.default(2_000),
  head_ms: Milliseconds.default(600_000),
  poll_ms: Milliseconds.default(5_000),
  busy_ms: Milliseconds.default(1_800_000),
  loading_ms: Milliseconds.default(300_000),
  idle_ms: Milliseconds.default(30_000),
  liveness_ms: Milliseconds.default(90_000),
  progress_ms: Milliseconds.default(600_000),
  completion_ms: Milliseconds.default(7_200_000),
  retry_attempts: Limit.max(100).default(8),
  retry_window_ms: Milliseconds.default(120_000),
  queue: Limit.max(10_000).default(64),
});

const Sampling = z.strictObject({
  thinking: z.boolean().default(true),
  max_tokens: Limit.default(8_192),
  temperature: Decimal.optional(),
  top_p: Decimal.optional(),
  min_p: Decimal.optional(),
  top_k: SafeInteger.optional(),
  seed: SafeInteger.optional(),
});

const Slot = SafeInteger.max(1_023);
const Slots = z.strictObject({
  terminal: z.array(Slot).min(1).default([0]),
  gateway: z.array(Slot).min(1).default([0]),
});

const Broker = z.strictObject({ timeout_ms: Milliseconds.default(300_000) });

const Limits = z.strictObject({
  iterations: Limit.max(1_000).default(8),
  calls: Limit.max(64).default(16),
  result_bytes: Limit.min(256).max(1_048_576).default(16_384),
  reply_bytes: Limit.max(1_048_576).default(1_048_576),
  message_bytes: Limit.max(1_048_576).default(262_144),
  baseline_tokens: Limit.default(3_000),
  thinking_cap: Limit.default(4_096),
  thinking_overrun: Limit.default(512),
  cache_tolerance: SafeInteger.default(64),
  context_reserve: SafeInteger.default(4_096),
  summary_bytes: Limit.min(256).max(1_048_576).default(16_384),
});

const Expect = z.strictObject({
  context: Limit.optional(),
  slots: Limit.optional(),
  template_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/u, "expected 64 lower-case hex digits")
    .optional(),
});

/** The whole file. */
export const ConfigFile = z.strictObject({
  home: PathText,
  model: z.string().min(1).default("default"),
  system: PathText.optional(),
  notes_folder: PathText.optional(),
  sockets: Sockets.prefault({}),
  loop: Loop.prefault({}),
  infer: Infer.prefault({}),
  sampling: Sampling.prefault({}),
  slots: Slots.prefault({}),
  broker: Broker.prefault({}),
  limits: Limits.prefault({}),
  expect: Expect.prefault({}),
});
export type ConfigFile = z.infer<typeof ConfigFile>;
