/** `loopd selftest`, and what `loopd serve` does before it binds: what the model server is, and whether sessions can rely on it. */
import { canonicalJson, quoteText, unreachable } from "@boxmaker/proto";
import type { Config } from "../config/config.ts";
import { HttpError, ModelHttp } from "../model/http.ts";
import type { ModelClient, ModelDependencies } from "../model/model-client.ts";
import { CompletionError } from "../model/model-error.ts";
import { coreToolsText } from "../registry/registry.ts";
import { openModel } from "../serve.ts";
import { composeBaseline } from "../session/baseline.ts";
import { ServerQuestions } from "./ask-server.ts";
import { checkProps } from "./check-props.ts";
import { probeSlots, probeStream } from "./probe-cache.ts";
import { EXPECTED, joinReports, mismatch, report, SETTINGS, type SelftestReport } from "./report.ts";

/** What the steps share. */
interface Subject {
  readonly config: Config;
  readonly model: ModelClient;
  readonly questions: ServerQuestions;
  readonly signal: AbortSignal;
}

function checkBudget(config: Config, tokens: number | undefined, how: string): SelftestReport {
  if (tokens === undefined) return report(["baseline: the server counts no tokens"]);
  const budget = config.limits.baseline_tokens;
  const warnings = tokens <= budget ? [] : [mismatch("baseline", `at most ${budget} tokens`, tokens, EXPECTED)];
  return report([`baseline: ${tokens} tokens${how}`], { warnings });
}

async function checkBaseline({ config, model, questions, signal }: Subject, isRouted: boolean): Promise<SelftestReport> {
  const { system, coreMemory, notesFolder } = config;
  const tools = coreToolsText();
  const reading = await composeBaseline({ system, coreMemory, notesFolder, tools });
  if (reading.kind === "refused") return report([], { warnings: [reading.problem] });
  const text = `${reading.baseline.system}\n${tools}`;
  const untemplated = ", without the chat template";
  if (isRouted) return checkBudget(config, await questions.routedTokens(config.model, text), untemplated);
  const message = canonicalJson({ role: "system", content: reading.baseline.system });
  const body = `{"model":${canonicalJson(config.model)},"tools":${tools},"messages":[${message}]}`;
  const counted = await model.server.countTokens(body, text, signal);
  if (counted.kind === "unknown") return checkBudget(config, undefined, "");
  return checkBudget(config, counted.tokens, counted.kind === "templated" ? "" : untemplated);
}

/** What the steps find, each as soon as it is known: a later step that fails mustn't hide it. */
type Findings = AsyncGenerator<SelftestReport, void, undefined>;

async function* checkRouter(subject: Subject): Findings {
  const { config, model, questions, signal } = subject;
  const warning = mismatch("server", "a llama-server with one model", "its router, which may unload it", SETTINGS);
  yield report(["server: llama-server's router; it is used as one without slots"], { warnings: [warning] });
  const routed = await questions.routedModel(config.model);
  if (routed.kind === "not-loaded") {
    yield report([`model ${quoteText(config.model)}: not loaded; what would load it isn't asked`]);
    return;
  }
  yield checkProps(config, routed.info);
  yield await checkBaseline(subject, true);
  yield await probeStream(model, signal);
}

async function* checkSlots({ config, questions, model, signal }: Subject, slots: number): Findings {
  // A loss within the tolerance isn't reported as one, and costs nothing to speak of.
  const use = await questions.slotUse(config.limits.cache_tolerance);
  switch (use.kind) {
    case "in-use":
      yield report(["completion: not tried, the slots hold conversations, whose cache it would cost"]);
      return;
    case "hidden":
      yield report([], { warnings: [mismatch("GET /slots", "status 200", use.status, SETTINGS)] });
      yield await probeStream(model, signal);
      return;
    case "empty":
      yield await probeSlots(model, slots, signal);
      return;
    default:
      unreachable(use);
  }
}

async function* inspect(subject: Subject): Findings {
  const { config, model, questions, signal } = subject;
  const server = await model.server.info(signal);
  if (server.kind === "llama-server") {
    yield checkProps(config, server);
    yield await checkBaseline(subject, false);
    yield* checkSlots(subject, server.slots);
    return;
  }
  if (config.infer.server === "auto" && (await questions.isRouter())) {
    yield* checkRouter(subject);
    return;
  }
  yield report(["server: OpenAI-compatible; it has no slots, and doesn't say what it took from its cache"]);
  yield await checkBaseline(subject, false);
  yield await probeStream(model, signal);
}

/** The config with replies of one token, tried once. */
function forProbes(config: Config): Config {
  return {
    ...config,
    sampling: { ...config.sampling, max_tokens: 1, thinking: false },
    infer: { ...config.infer, retry_attempts: 1 },
  };
}

/** Never rejects for what a server does: that is in the report. Opens and closes its own connections. */
export async function selftest(config: Config, dependencies: ModelDependencies, signal: AbortSignal): Promise<SelftestReport> {
  await using model = openModel(forProbes(config), dependencies);
  await using http = new ModelHttp(config.sockets.infer, config.infer.connect_ms);
  const found: SelftestReport[] = [];
  try {
    for await (const finding of inspect({ config, model, questions: new ServerQuestions(http, signal), signal }))
      found.push(finding);
  } catch (error) {
    if (!(error instanceof CompletionError || error instanceof HttpError)) throw error;
    const away = error instanceof HttpError || error.error.code === "unreachable" || error.error.code === "loading";
    const said = error instanceof CompletionError ? error.error.detail : error.message;
    const text = signal.aborted ? "the self-test didn't end in time" : said;
    const pointer = away ? "see docs/runbook.md#model-unreachable" : "see docs/runbook.md#model-reply-refused";
    found.push(report([], { warnings: [`${text}; ${pointer}`] }));
  }
  return joinReports(found);
}
