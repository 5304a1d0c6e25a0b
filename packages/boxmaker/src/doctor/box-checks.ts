/** What a box on this machine needs, looked at one by one without changing anything. */
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseToml } from "@boxmaker/edge/toml";
import { decodeUtf8, quoteText } from "@boxmaker/proto";
import { z } from "zod";
import { checkImage } from "../image/check-image.ts";
import { findServer, type Search } from "../model/find-server.ts";
import { terminalProgram } from "../roles/role-program.ts";
import { attackProgram, attackSandbox } from "./attack-checks.ts";
import type { Check } from "./check.ts";
import { childLines } from "./child-lines.ts";

const OLDEST_NODE = [24, 21] as const;
/** Group and others: where each role has a user of its own, the group of the socket may come in. */
const BEYOND_GROUP = { directory: 0o067, socket: 0o117 };

/** Of brokerd's configuration, what doctor looks at; brokerd itself is the judge of the whole. */
const BrokerConfig = z.looseObject({
  home: z.string(),
  audit: z.looseObject({ directory: z.string().optional() }).optional(),
  sockets: z.looseObject({ broker: z.string().optional(), admin: z.string().optional() }).optional(),
  runner: z.looseObject({ runtime: z.string(), image: z.string().optional() }).optional(),
});

/** What the configuration says, with absolute paths. */
export interface BoxPlaces {
  readonly home: string;
  readonly audit: string;
  readonly sockets: readonly string[];
  readonly runtime: string;
  readonly image: string | undefined;
}

export function checkNode(version: string = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const wanted = `Node ${OLDEST_NODE.join(".")} or later is needed; see docs/runbook.md#node-too-old`;
  return { name: "node", result: isEnough ? "ok" : "failed", text: isEnough ? `Node ${version}` : `Node ${version}: ${wanted}` };
}

/** Reads the configuration as far as doctor needs it. */
export async function readPlaces(file: string): Promise<{ readonly check: Check; readonly places: BoxPlaces | undefined }> {
  const bad = (problem: string): { readonly check: Check; readonly places: undefined } => ({
    check: { name: "config", result: "failed", text: `${quoteText(file)}: ${problem}; see docs/runbook.md#config-invalid` },
    places: undefined,
  });
  let text: string | undefined;
  try {
    text = decodeUtf8(await readFile(file));
  } catch (error) {
    // Said as it is; nothing else can be looked at without it.
    return bad(`can't be read (${error instanceof Error && "code" in error ? String(error.code) : "unknown error"})`);
  }
  if (text === undefined) return bad("is not UTF-8");
  const parsed = parseToml(BrokerConfig, text);
  if (parsed.kind === "invalid") return bad(parsed.problems.map(({ line, problem }) => `line ${line}: ${problem}`).join("; "));
  const { home: at, audit, sockets, runner } = parsed.value;
  const from = (path: string): string => resolve(dirname(file), path);
  const home = from(at);
  const places = {
    home,
    audit: from(audit?.directory ?? join(home, "audit")),
    sockets: [
      from(sockets?.broker ?? join(home, "run/broker/broker.sock")),
      from(sockets?.admin ?? join(home, "run/admin/admin.sock")),
    ],
    runtime: runner?.runtime ?? "refusing",
    image: runner?.image,
  };
  return { check: { name: "config", result: "ok", text: `${quoteText(file)}, home ${quoteText(home)}` }, places };
}

const WORST_FIRST = ["failed", "skipped", "ok"] as const;

/** Starts boxes as brokerd does, and has them use more memory than they may. */
export async function checkRuntime(
  config: string,
  { runtime }: BoxPlaces,
  stop: AbortSignal,
  program = attackProgram(config, ["memory"]),
): Promise<Check> {
  const checks: Check[] = [];
  await attackSandbox(program, stop, (check) => checks.push(check));
  const name = "runtime";
  const worst = WORST_FIRST.map((result) => checks.find((check) => check.result === result)).find((check) => check !== undefined);
  if (worst === undefined) return { name, result: "failed", text: `${quoteText(runtime)} could not be tried` };
  const { result, text } = worst;
  if (result === "failed") return { name, result, text: `${quoteText(runtime)}: ${text}` };
  if (result === "ok") return { name, result, text: `${runtime} runs boxes, and their limits hold` };
  return { name, result: "ok", text: `${runtime} runs boxes, but ${text.slice(text.indexOf(": ") + 2)}` };
}

/** The tools image, where podman is the runtime. */
export async function checkToolsImage({ runtime, image }: BoxPlaces): Promise<Check> {
  const name = "image";
  if (runtime !== "podman") return { name, result: "skipped", text: `${runtime} needs none` };
  const checked = await checkImage({ image });
  if (checked.kind === "failed") return { name, result: "failed", text: checked.problem };
  const bad = checked.findings.filter(({ ok }) => !ok).map(({ what }) => what);
  if (bad.length === 0) return { name, result: "ok", text: `${checked.reference} has all that a box needs` };
  return {
    name,
    result: "failed",
    text: `${checked.reference} isn't as it has to be: ${bad.join("; ")}; see docs/runbook.md#image-check-failed`,
  };
}

/** Who may reach a socket. */
export async function checkSocket(path: string): Promise<Check> {
  const name = "socket";
  try {
    const directory = await lstat(dirname(path));
    const socket = await lstat(path);
    const mode = (bits: number): string => (bits & 0o777).toString(8).padStart(4, "0");
    if ((directory.mode & BEYOND_GROUP.directory) !== 0 || (socket.mode & BEYOND_GROUP.socket) !== 0) {
      const found = `its directory has mode ${mode(directory.mode)}, it has ${mode(socket.mode)}`;
      const wanted = "expected 0700 and 0600, or 0710 and 0660 for a group";
      return { name, result: "failed", text: `${quoteText(path)}: ${found}, ${wanted}; see docs/runbook.md#socket-refused` };
    }
    return { name, result: "ok", text: `${quoteText(path)} is its owner's, mode ${mode(socket.mode)}` };
  } catch {
    // Not there, or out of reach, as for everyone but its user.
    return { name, result: "skipped", text: `${quoteText(path)} isn't there: brokerd doesn't run` };
  }
}

/** Whether the audit log is whole, by the program that verifies it. */
export async function checkAudit({ home, audit }: BoxPlaces, stop: AbortSignal): Promise<Check> {
  const name = "audit";
  try {
    await lstat(audit);
  } catch {
    // A box that never ran.
    return { name, result: "skipped", text: `there is no log in ${quoteText(audit)} yet` };
  }
  if (audit !== join(home, "audit")) return { name, result: "skipped", text: "the log isn't in the home: verify it by hand" };
  let line = "";
  const program = terminalProgram("bxctl", ["audit", "verify", "--home", home]);
  const { status, lastError } = await childLines(program, stop, (said) => {
    line ||= said;
  });
  return status === 0 ? { name, result: "ok", text: line } : { name, result: "failed", text: lastError || line };
}

/** What a box does without, by what the server is; nothing with a llama-server of one model. */
const MISSING = {
  "llama-server": "",
  router:
    ", a llama-server's router: it is used as a server without slots, and may unload a model under a session; see docs/runbook.md#model-server-settings",
  openai:
    ", a server without slots: it doesn't keep a session's cache for it, say what its cache spared, or end a thought when asked; see docs/model-servers.md",
} as const;

/** A model server at the usual ports of this machine. */
export async function checkModel(search: Search = {}): Promise<Check> {
  const found = await findServer(search);
  if (found !== undefined)
    return { name: "model", result: "ok", text: `${found.url} offers ${quoteText(found.model)}${MISSING[found.kind]}` };
  const text =
    "no server of yours or root's answers at the usual ports of this machine; see docs/runbook.md#model-server-not-found";
  return { name: "model", result: "skipped", text };
}
