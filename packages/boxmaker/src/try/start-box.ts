/** Starts the roles of a trial box, in the order in which they need each other. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { quoteText, type RuntimeName } from "@boxmaker/proto";
import type { Layout } from "../home/layout.ts";
import { baseAddress, findServer, probeServer, wantsKey } from "../model/find-server.ts";
import { daemonProgram, type Program } from "../roles/role-program.ts";
import type { Supervisor } from "../roles/supervisor.ts";
import { brokerdToml, loopdToml } from "./config-files.ts";
import { type RuntimeChoices, runtimeChoices } from "./runtime-choice.ts";

export interface StartOptions {
  readonly layout: Layout;
  /** A server's URL, `demo`, or nothing: look for one. */
  readonly model: string | undefined;
  readonly runtime: RuntimeName | undefined;
  readonly supervisor: Supervisor;
  /** One line for the owner. */
  readonly say: (line: string) => void;
}

/** `problem` is one line with a runbook pointer. */
export type BoxStart = { readonly kind: "started" } | { readonly kind: "failed"; readonly problem: string };

function failed(problem: string): BoxStart {
  return { kind: "failed", problem };
}

async function writeConfig(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}

function urlIn(readyLine: string): string | undefined {
  return /http:\/\/[0-9.]+:[0-9]+/u.exec(readyLine)?.[0];
}

/** Where the model is: the named server, the one that was found, or the demo model, which is started. */
async function openModel(options: StartOptions): Promise<{ url: string; model: string } | string> {
  const { supervisor, say } = options;
  if (options.model !== undefined && options.model !== "demo") {
    const address = baseAddress(options.model);
    if (address === undefined)
      return `can't use ${quoteText(options.model)} as model: expected \`demo\` or an address such as http://127.0.0.1:8080; see docs/runbook.md#model-server-not-found`;
    if (await wantsKey(address))
      return `the server at ${quoteText(address)} wants an API key, and \`boxmaker try\` has none to give: start it without one; see docs/runbook.md#model-server-not-found`;
    const named = await probeServer(address);
    if (named === undefined)
      return `no OpenAI-compatible server answers at ${quoteText(address)}: start it first, or use \`--model demo\`; see docs/runbook.md#model-server-not-found`;
    say(`model: ${quoteText(named.model)} at ${named.url}`);
    return named;
  }
  const found = options.model === "demo" ? undefined : await findServer();
  if (found !== undefined) {
    say(`model: ${quoteText(found.model)} at ${found.url}, found on a usual port (use another with --model URL)`);
    return found;
  }
  // Started again, it must be where inferproxy looks for it.
  const again = (line: string): Program =>
    daemonProgram("demo-model", ["--port", /:([0-9]+)$/u.exec(urlIn(line) ?? "")?.[1] ?? "0"]);
  const started = await supervisor.start("demo-model", daemonProgram("demo-model", ["--port", "0"]), again);
  if (started.kind === "failed") return started.problem;
  const url = urlIn(started.line);
  if (url === undefined) return "the demo model doesn't say where it is; see docs/runbook.md#role-ended";
  say("model: the built-in demo model, which is NOT a language model (use a real one with --model URL)");
  return { url, model: "demo" };
}

/** brokerd's exit status where it's the runtime that it refuses. */
const NO_RUNTIME_STATUS = 3;

/** What came of starting brokerd; `lines` are for the owner. */
export type BrokerStart =
  | { readonly kind: "started"; readonly lines: readonly string[] }
  | { readonly kind: "failed"; readonly problem: string };

/** Starts brokerd with the first of the runtimes that it takes. A failure of another kind ends the search: it would only be repeated. */
export async function startBroker(
  { layout, supervisor }: Pick<StartOptions, "layout" | "supervisor">,
  { choices, skipped }: RuntimeChoices,
): Promise<BrokerStart> {
  const passedOver = skipped.map(({ runtime, why }) => `${runtime}: ${why}`);
  for (const choice of choices) {
    await writeConfig(layout.config.brokerd, brokerdToml(layout, choice));
    const started = await supervisor.start("brokerd", daemonProgram("brokerd", ["serve", "--config", layout.config.brokerd]));
    if (started.kind === "ready") {
      const lines = passedOver.map((line) => `not used, ${line}`);
      return { kind: "started", lines: [...lines, `tools: ${choice.runtime}, ${choice.why}`] };
    }
    if (started.exit?.code !== NO_RUNTIME_STATUS) return { kind: "failed", problem: started.problem };
    passedOver.push(`${choice.runtime}: ${started.problem.replace(/^brokerd: /u, "")}`);
  }
  const problem = `no way to run tools can be used here: ${passedOver.join("; ")}; see docs/runbook.md#runtime-unavailable`;
  return { kind: "failed", problem };
}

/** The model, and inferproxy in front of it. */
async function startModel(options: StartOptions): Promise<{ url: string; model: string } | string> {
  const model = await openModel(options);
  if (typeof model === "string") return model;
  const args = ["--listen", options.layout.sockets.infer, "--upstream", model.url];
  const proxy = await options.supervisor.start("inferproxy", daemonProgram("inferproxy", args));
  return proxy.kind === "failed" ? proxy.problem : model;
}

/** Starts model, inferproxy, brokerd and loopd. What was started is the supervisor's to stop, whatever this returns. */
export async function startBox(options: StartOptions): Promise<BoxStart> {
  const { layout, supervisor, say } = options;
  // Neither needs the other, and both take their time; loopd needs both.
  const [model, broker] = await Promise.all([
    startModel(options),
    runtimeChoices(options.runtime).then((choices) => startBroker(options, choices)),
  ]);
  if (typeof model === "string") return failed(model);
  if (broker.kind === "failed") return broker;
  for (const line of broker.lines) say(line);
  await writeConfig(layout.config.loopd, loopdToml(layout, model.model));
  const loop = await supervisor.start("loopd", daemonProgram("loopd", ["serve", "--config", layout.config.loopd]));
  return loop.kind === "failed" ? failed(loop.problem) : { kind: "started" };
}
