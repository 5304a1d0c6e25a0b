/** What brokerd's configuration says about grants and new sessions, for questions that are answered without brokerd. */
import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseToml } from "@boxmaker/edge/toml";
import { boxPlaces } from "@boxmaker/policy/grants";
import { AbsPath, DataClass, decodeUtf8, joinClass, type Label, quoteText } from "@boxmaker/proto";
import { z } from "zod";

const PathText = z.string().min(1);

/** Keys that brokerd alone goes by are left to brokerd, which checks them all. */
const ConfigFile = z.looseObject({
  home: PathText,
  audit: z.looseObject({ directory: PathText.optional() }).optional(),
  grants: z.looseObject({ directory: PathText.optional(), tools: PathText.optional(), labels: PathText.optional() }).optional(),
  sockets: z
    .looseObject({
      broker: PathText.optional(),
      broker_mcp: PathText.optional(),
      admin: PathText.optional(),
      approval: PathText.optional(),
    })
    .optional(),
  sessions: z
    .looseObject({
      taint: DataClass.optional(),
      untrusted: z.boolean().optional(),
      max_class: DataClass.optional(),
      memory: PathText.optional(),
      memory_class: DataClass.optional(),
    })
    .optional(),
});

/** Where grants are, and in which state a new session starts. */
export interface BrokerConfig {
  readonly grants: AbsPath;
  readonly tools: AbsPath;
  readonly labels: AbsPath;
  readonly audit: AbsPath;
  /** The box's own places. */
  readonly forbidden: readonly AbsPath[];
  readonly newSession: { readonly label: Label; readonly ceiling: DataClass };
}

export type BrokerConfigReading =
  | { readonly kind: "ok"; readonly config: BrokerConfig }
  | { readonly kind: "invalid"; readonly problem: string };

async function isEmpty(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size === 0;
  } catch (error) {
    // As brokerd takes it: what can't be looked at may hold anything, a missing memory holds nothing.
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

/** Reads `etc/brokerd.toml` of a home. The problem of an invalid one is a single printable line with its pointer. */
export async function readBrokerConfig(home: string): Promise<BrokerConfigReading> {
  const file = join(home, "etc/brokerd.toml");
  const invalid = (problem: string): BrokerConfigReading => ({
    kind: "invalid",
    problem: `${quoteText(file)}: ${problem}; see docs/runbook.md#broker-config-unread`,
  });
  let text: string | undefined;
  try {
    text = decodeUtf8(await readFile(file));
  } catch (error) {
    return invalid(`can't be read (${error instanceof Error && "code" in error ? String(error.code) : "unknown error"})`);
  }
  if (text === undefined) return invalid("is not UTF-8");
  const parsed = parseToml(ConfigFile, text);
  if (parsed.kind === "invalid") return invalid(parsed.problems.map(({ line, problem }) => `line ${line}: ${problem}`).join("; "));
  try {
    return { kind: "ok", config: await completeConfig(file, parsed.value) };
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    return invalid("a path in it can't be used");
  }
}

async function completeConfig(file: string, value: z.infer<typeof ConfigFile>): Promise<BrokerConfig> {
  const at = (path: string): AbsPath => AbsPath.parse(resolve(dirname(file), path));
  const home = at(value.home);
  const { grants = {}, sockets = {}, sessions = {} } = value;
  const places = {
    grants: at(grants.directory ?? join(home, "etc/grants")),
    tools: at(grants.tools ?? join(home, "etc/tools.toml")),
    labels: at(grants.labels ?? join(home, "etc/labels.toml")),
    audit: at(value.audit?.directory ?? join(home, "audit")),
  };
  const memory = at(sessions.memory ?? join(home, "memory/core.md"));
  const socketFolders = [sockets.broker, sockets.broker_mcp, sockets.admin, sockets.approval].flatMap((path) =>
    path === undefined ? [] : [at(dirname(path))],
  );
  const { taint = "public", untrusted = false, max_class: ceiling = "secret", memory_class: memoryClass = "private" } = sessions;
  return {
    ...places,
    forbidden: boxPlaces(home, [...socketFolders, at(file), memory, ...Object.values(places)]),
    newSession: { label: { taint: (await isEmpty(memory)) ? taint : joinClass(taint, memoryClass), untrusted }, ceiling },
  };
}
