/** brokerd's configuration: one TOML file, every key with its default. */
import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { parseToml } from "@boxmaker/edge/toml";
import { AbsPath, DataClass, decodeUtf8, type Hash32, holdsPath, MAX_FRAME, quoteText, SafeInteger, sha256 } from "@boxmaker/proto";
import { z } from "zod";
import { RunnerConfig } from "../runner/runner-config.ts";

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
/** Room for what has to be recorded yet when sinks are denied already. */
const LOW_SPACE_BYTES = 64 * MIB;
/** Records. */
const CHECKPOINT_EVERY = 1000;
const Limit = SafeInteger.min(1);
/** Program and arguments. */
const CommandWords = z
  .tuple(
    [z.string().regex(/^\/[^\0]*$/u, "expected the program's absolute path")],
    z.string().regex(/^[^\0]*$/u, "expected no NUL"),
  )
  .readonly();
const PathText = z.string().min(1);

const ConfigFile = z.strictObject({
  home: PathText,
  audit: z
    .strictObject({
      directory: PathText.optional(),
      low_space_bytes: SafeInteger.default(LOW_SPACE_BYTES),
      checkpoint_every: Limit.max(1_000_000).default(CHECKPOINT_EVERY),
      checkpoint_command: CommandWords.optional(),
    })
    .default({ low_space_bytes: LOW_SPACE_BYTES, checkpoint_every: CHECKPOINT_EVERY }),
  grants: z.strictObject({ directory: PathText.optional(), tools: PathText.optional(), labels: PathText.optional() }).default({}),
  sockets: z
    .strictObject({
      broker: PathText.optional(),
      broker_mcp: PathText.optional(),
      admin: PathText.optional(),
      approval: PathText.optional(),
    })
    .default({}),
  approvals: z
    .strictObject({
      ttl_ms: Limit.max(24 * HOUR_MS).default(HOUR_MS / 4),
      max_pending: Limit.max(10_000).default(64),
      per_hour: Limit.max(100_000).default(120),
    })
    .default({ ttl_ms: HOUR_MS / 4, max_pending: 64, per_hour: 120 }),
  sessions: z
    .strictObject({
      taint: DataClass.default("public"),
      untrusted: z.boolean().default(false),
      max_class: DataClass.default("secret"),
      memory: PathText.optional(),
      memory_class: DataClass.default("private"),
      per_minute: Limit.max(100_000).default(600),
    })
    .default({ taint: "public", untrusted: false, max_class: "secret", memory_class: "private", per_minute: 600 }),
  limits: z
    .strictObject({
      connections: Limit.max(10_000).default(256),
      bytes_in_flight: Limit.min(MAX_FRAME + 4).default(64 * MIB),
      read_deadline_ms: Limit.max(HOUR_MS).default(10_000),
      write_deadline_ms: Limit.max(HOUR_MS).default(10_000),
      stop_grace_ms: Limit.max(HOUR_MS).default(5_000),
    })
    .default({
      connections: 256,
      bytes_in_flight: 64 * MIB,
      read_deadline_ms: 10_000,
      write_deadline_ms: 10_000,
      stop_grace_ms: 5_000,
    }),
  runner: RunnerConfig.optional(),
});
type ConfigFile = z.infer<typeof ConfigFile>;

/** The configuration with every path absolute. */
export interface Config {
  /** The configuration's own file. */
  readonly file: AbsPath;
  readonly home: AbsPath;
  readonly auditDirectory: AbsPath;
  /** Free bytes below which tools that change something are denied. */
  readonly lowSpaceBytes: number;
  readonly checkpoints: {
    /** Where the private keys are. */
    readonly keys: AbsPath;
    /** How many records make a checkpoint due. */
    readonly every: number;
    /** Carries a checkpoint off the machine; null where the owner has none. */
    readonly command: readonly [string, ...string[]] | null;
  };
  readonly grantsDirectory: AbsPath;
  /** What tools do where no grant permits, and below the owner's labels of trees. Neither needs to exist. */
  readonly toolsFile: AbsPath;
  readonly labelsFile: AbsPath;
  readonly sockets: {
    readonly broker: AbsPath;
    readonly admin: AbsPath;
    /** Null where the file doesn't name them: they aren't served then. */
    readonly brokerMcp: AbsPath | null;
    readonly approval: AbsPath | null;
  };
  readonly approvals: { readonly ttlMs: number; readonly maxPending: number; readonly perHour: number };
  readonly sessions: {
    readonly taint: DataClass;
    readonly untrusted: boolean;
    readonly maxClass: DataClass;
    readonly memory: AbsPath;
    readonly memoryClass: DataClass;
    /** How many may be opened within a minute. */
    readonly perMinute: number;
  };
  readonly limits: ConfigFile["limits"];
  /** Null where the file has no `[runner]`: every call is refused then. */
  readonly runner: RunnerConfig | null;
  readonly sha256: Hash32;
}

export type ConfigReading =
  | { readonly kind: "ok"; readonly config: Config }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * Reads the configuration. Relative paths in it are relative to the file.
 *
 * The problem of an invalid one is a single line that names the file and the line.
 */
export async function readConfig(path: string): Promise<ConfigReading> {
  const file = resolve(path);
  const invalid = (problem: string): ConfigReading => ({ kind: "invalid", problem: `${quoteText(file)}: ${problem}` });
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    return invalid(`can't be read (${error instanceof Error && "code" in error ? String(error.code) : "unknown error"})`);
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) return invalid("is not UTF-8");
  const parsed = parseToml(ConfigFile, text);
  if (parsed.kind === "invalid") return invalid(parsed.problems.map(({ line, problem }) => `line ${line}: ${problem}`).join("; "));
  const { value } = parsed;

  const problems: string[] = [];
  const absolute = (name: string, at: string): AbsPath => {
    const result = AbsPath.safeParse(resolve(dirname(file), at));
    if (result.success && !/[:,]/u.test(result.data)) return result.data;
    problems.push(`${name}: expected a path without ':' and ','`);
    return FALLBACK;
  };
  const home = absolute("home", value.home);
  const config: Config = {
    file: absolute("the file's own path", file),
    home,
    auditDirectory: absolute("audit.directory", value.audit.directory ?? join(home, "audit")),
    lowSpaceBytes: value.audit.low_space_bytes,
    checkpoints: {
      keys: absolute("home", join(value.home, "broker")),
      every: value.audit.checkpoint_every,
      command: value.audit.checkpoint_command ?? null,
    },
    grantsDirectory: absolute("grants.directory", value.grants.directory ?? join(home, "etc/grants")),
    toolsFile: absolute("grants.tools", value.grants.tools ?? join(home, "etc/tools.toml")),
    labelsFile: absolute("grants.labels", value.grants.labels ?? join(home, "etc/labels.toml")),
    sockets: {
      broker: absolute("sockets.broker", value.sockets.broker ?? join(home, "run/broker/broker.sock")),
      brokerMcp: value.sockets.broker_mcp === undefined ? null : absolute("sockets.broker_mcp", value.sockets.broker_mcp),
      approval: value.sockets.approval === undefined ? null : absolute("sockets.approval", value.sockets.approval),
      admin: absolute("sockets.admin", value.sockets.admin ?? join(home, "run/admin/admin.sock")),
    },
    approvals: { ttlMs: value.approvals.ttl_ms, maxPending: value.approvals.max_pending, perHour: value.approvals.per_hour },
    sessions: {
      taint: value.sessions.taint,
      untrusted: value.sessions.untrusted,
      maxClass: value.sessions.max_class,
      memory: absolute("sessions.memory", value.sessions.memory ?? join(home, "memory/core.md")),
      memoryClass: value.sessions.memory_class,
      perMinute: value.sessions.per_minute,
    },
    limits: value.limits,
    runner: value.runner ?? null,
    sha256: sha256(bytes),
  };
  // Of a path that is refused already nothing more is to be said.
  if (problems.length === 0) problems.push(...sharedDirectories(await realDirectories(config)));
  return problems.length === 0 ? { kind: "ok", config } : invalid(problems.join("; "));
}

/** The sockets that are served. */
export function socketPaths({ sockets }: Pick<Config, "sockets">): readonly AbsPath[] {
  return [sockets.broker, sockets.brokerMcp, sockets.admin, sockets.approval].filter((path) => path !== null);
}

/** Stands in for a path that was refused, only until the problem is returned. */
const FALLBACK = AbsPath.parse("/invalid");

/** Where a directory is, or will be made, without links; undefined where its name can't be used. */
async function realDirectory(path: string): Promise<AbsPath | undefined> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return AbsPath.safeParse(join(await realpath(at), ...missing)).data;
    } catch {
      // Not there yet, or not to be looked at; whoever makes it finds out. The root is always there.
      missing.unshift(basename(at));
      if (at === dirname(at)) return undefined;
    }
  }
}

function realDirectories(config: Config): Promise<readonly (AbsPath | undefined)[]> {
  const { auditDirectory, grantsDirectory } = config;
  return Promise.all([...socketPaths(config).map((path) => dirname(path)), auditDirectory, grantsDirectory].map(realDirectory));
}

/** Each socket has a directory of its own: who is let into one, by a mount for instance, mustn't be able to reach, or replace, another. */
function sharedDirectories(directories: readonly (AbsPath | undefined)[]): readonly string[] {
  const isShared = directories.some((one, index) =>
    directories.some((other, place) => place !== index && (one === undefined || other === undefined || holdsPath(one, other))),
  );
  return isShared
    ? ["sockets, audit.directory, grants.directory: expected a directory of its own for each, and none inside of another"]
    : [];
}
