/** loopd's configuration with every path absolute, or one line that says what is wrong with it. */
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseToml } from "@boxmaker/edge/toml";
import { AbsPath, decodeUtf8, quoteText } from "@boxmaker/proto";
import { errnoOf } from "../errors.ts";
import { ConfigFile } from "./config-file.ts";

/** What the roles of the program are given. */
export interface Config {
  readonly home: AbsPath;
  readonly sessionsDirectory: AbsPath;
  readonly coreMemory: AbsPath;
  /** The system prompt's file; `required` where the owner named it, so that its absence is an error. */
  readonly system: { readonly path: AbsPath; readonly required: boolean };
  readonly notesFolder: AbsPath | null;
  readonly sockets: {
    readonly loop: AbsPath;
    readonly gateway: AbsPath | null;
    readonly infer: AbsPath;
    /** Null where the file names none: every tool call fails then. */
    readonly broker: AbsPath | null;
  };
  readonly model: string;
  readonly loop: ConfigFile["loop"];
  readonly broker: ConfigFile["broker"];
  readonly infer: ConfigFile["infer"];
  readonly sampling: ConfigFile["sampling"];
  readonly slots: ConfigFile["slots"];
  readonly limits: ConfigFile["limits"];
  readonly expect: ConfigFile["expect"];
}

/** `problem` is one printable line without a runbook pointer. */
export type ConfigReading =
  | { readonly kind: "ok"; readonly config: Config }
  | { readonly kind: "invalid"; readonly problem: string };

/** Stands in for a path that was refused, only until the problem is returned. */
const FALLBACK = AbsPath.parse("/nowhere");

/** Reads the configuration. Relative paths in it are relative to the file. All problems at once. */
export async function readConfig(path: string): Promise<ConfigReading> {
  const file = resolve(path);
  const invalid = (problem: string): ConfigReading => ({ kind: "invalid", problem: `config ${quoteText(file)}: ${problem}` });
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    // Whatever keeps it from being read, nothing starts without it.
    return invalid(`can't be read (${errnoOf(error)})`);
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) return invalid("is not UTF-8");
  const parsed = parseToml(ConfigFile, text);
  if (parsed.kind === "invalid") return invalid(parsed.problems.map(({ line, problem }) => `line ${line}: ${problem}`).join("; "));
  const { value, lineOf } = parsed;

  const problems: string[] = [];
  const absolute = (key: readonly string[], at: string): AbsPath => {
    const result = AbsPath.safeParse(resolve(dirname(file), at));
    if (result.success && !/[:,]/u.test(result.data)) return result.data;
    problems.push(`line ${lineOf(key)}: ${key.join(".")}: expected a path without ':' and ','`);
    return FALLBACK;
  };
  const home = absolute(["home"], value.home);
  const inHome = (key: readonly string[], named: string | undefined, place: string): AbsPath =>
    absolute(key, named ?? join(home, place));
  const { sockets } = value;
  const config: Config = {
    home,
    sessionsDirectory: inHome(["home"], undefined, "sessions"),
    coreMemory: inHome(["home"], undefined, "memory/core.md"),
    system: { path: absolute(["system"], value.system ?? "system.md"), required: value.system !== undefined },
    notesFolder: value.notes_folder === undefined ? null : absolute(["notes_folder"], value.notes_folder),
    sockets: {
      loop: inHome(["sockets", "loop"], sockets.loop, "run/loop/loop.sock"),
      gateway: sockets.loop_gateway === undefined ? null : absolute(["sockets", "loop_gateway"], sockets.loop_gateway),
      infer: inHome(["sockets", "infer"], sockets.infer, "run/infer/infer.sock"),
      broker: sockets.broker === undefined ? null : absolute(["sockets", "broker"], sockets.broker),
    },
    model: value.model,
    broker: value.broker,
    loop: value.loop,
    infer: value.infer,
    sampling: value.sampling,
    slots: value.slots,
    limits: value.limits,
    expect: value.expect,
  };
  return problems.length === 0 ? { kind: "ok", config } : invalid(problems.join("; "));
}
