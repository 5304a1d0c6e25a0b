/** The configuration that brokerd goes by: what it was started with, and since then those keys that may change while it runs. */
import { isDeepStrictEqual } from "node:util";
import type { Config, ConfigReading } from "./config.ts";

/** `keys` are named as in the file. A refusal has changed nothing. */
export type Reload =
  | { readonly kind: "applied"; readonly keys: readonly string[] }
  | { readonly kind: "invalid"; readonly problem: string }
  | { readonly kind: "needs_restart"; readonly keys: readonly string[] };

/** Keys that the configuration's object calls by another name than the file does. */
const FILE_NAMES: ReadonlyMap<string, string> = new Map([
  ["auditDirectory", "audit.directory"],
  ["lowSpaceBytes", "audit.low_space_bytes"],
  ["checkpoints.every", "audit.checkpoint_every"],
  ["checkpoints.command", "audit.checkpoint_command"],
  ["grantsDirectory", "grants.directory"],
  ["toolsFile", "grants.tools"],
  ["labelsFile", "grants.labels"],
]);

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fileName(key: string): string {
  return FILE_NAMES.get(key) ?? key.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

/** Every value by its key in the file. */
function valuesOf(table: Readonly<Record<string, unknown>>, prefix = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(table).flatMap(([key, value]) =>
    isTable(value) ? valuesOf(value, `${prefix}${key}.`) : [[fileName(`${prefix}${key}`), value] as const],
  );
}

/**
 * Limits of sockets and of waiting. What a decision is judged by, where things are and what runs tools isn't among them: the record of a
 * start names the configuration that it is of, so that changes at a start only.
 */
function mayChange(key: string): boolean {
  return key.startsWith("limits.") || key === "approvals.ttl_ms";
}

function changedKeys(before: Config, after: Config): readonly string[] {
  const { sha256: _before, ...was } = before;
  const { sha256: _after, ...is } = after;
  const [old, now] = [new Map(valuesOf(was)), new Map(valuesOf(is))];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => !isDeepStrictEqual(old.get(key), now.get(key)));
}

export class ConfigInForce {
  #config: Config;

  constructor(config: Config) {
    this.#config = config;
  }

  /** What goes now. Whoever wants a later change reads it at each use. */
  get current(): Config {
    return this.#config;
  }

  /** Takes a reading as a whole, in one step, or not at all. */
  offer(reading: ConfigReading): Reload {
    if (reading.kind === "invalid") return reading;
    const keys = changedKeys(this.#config, reading.config);
    const fixed = keys.filter((key) => !mayChange(key));
    if (fixed.length > 0) return { kind: "needs_restart", keys: fixed };
    this.#config = reading.config;
    return { kind: "applied", keys };
  }
}
