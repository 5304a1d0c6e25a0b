/** `loopd selftest`: asks the model server what it is, counts the prompt, and compares both with what the owner expects. */
import { canonicalJson, quoteText } from "@boxmaker/proto";
import type { Config } from "./config/config.ts";
import { HttpError } from "./model/http.ts";
import type { ModelClient } from "./model/model-client.ts";
import { CompletionError } from "./model/model-error.ts";
import type { ServerInfo } from "./model/model-server.ts";
import { coreToolsText } from "./registry/registry.ts";
import { composeBaseline } from "./session/baseline.ts";

/** `lines` are what was found; `problems` what is wrong, each one line that ends with a runbook pointer. */
export interface SelftestReport {
  readonly lines: readonly string[];
  readonly problems: readonly string[];
}

function compare(what: string, expected: string | number | undefined, got: string | number): readonly string[] {
  if (expected === undefined || expected === got) return [];
  return [`${what}: expected ${expected}, got ${got}; see docs/runbook.md#selftest-failed`];
}

function inspectServer(config: Config, server: ServerInfo): SelftestReport {
  if (server.kind === "openai") {
    return { lines: ["server: OpenAI-compatible; it has no slots, and doesn't say what it took from its cache"], problems: [] };
  }
  const { expect, slots } = config;
  const highest = Math.max(...slots.terminal, ...slots.gateway);
  const build = server.build === "" ? "" : `, build ${quoteText(server.build)}`;
  return {
    lines: [
      `server: llama-server${build}`,
      `slots: ${server.slots}`,
      `context per slot: ${server.context}`,
      `chat template SHA-256: ${server.templateSha256}`,
    ],
    problems: [
      ...compare("slots", expect.slots, server.slots),
      ...compare("context per slot", expect.context, server.context),
      ...compare("chat template SHA-256", expect.template_sha256, server.templateSha256),
      ...(highest < server.slots
        ? []
        : [`slots: expected more than ${highest}, got ${server.slots}; see docs/runbook.md#slot-missing`]),
    ],
  };
}

async function inspectBaseline(config: Config, model: ModelClient, signal: AbortSignal): Promise<SelftestReport> {
  const { system, coreMemory, notesFolder, limits } = config;
  const tools = coreToolsText();
  const reading = await composeBaseline({ system, coreMemory, notesFolder, tools });
  if (reading.kind === "refused") return { lines: [], problems: [reading.problem] };
  const message = canonicalJson({ role: "system", content: reading.baseline.system });
  const body = `{"model":${canonicalJson(config.model)},"tools":${tools},"messages":[${message}]}`;
  const counted = await model.server.countTokens(body, `${reading.baseline.system}\n${tools}`, signal);
  if (counted.kind === "unknown") return { lines: ["baseline: the server counts no tokens"], problems: [] };
  const how = counted.kind === "templated" ? "" : ", without the chat template";
  return {
    lines: [`baseline: ${counted.tokens} tokens${how}`],
    problems:
      counted.tokens <= limits.baseline_tokens
        ? []
        : [
            `baseline: expected at most ${limits.baseline_tokens} tokens, got ${counted.tokens}; see docs/runbook.md#selftest-failed`,
          ],
  };
}

/** Never rejects for what a server does: that is a problem in the report. */
export async function selftest(config: Config, model: ModelClient, signal: AbortSignal): Promise<SelftestReport> {
  try {
    const reports = [inspectServer(config, await model.server.info(signal)), await inspectBaseline(config, model, signal)];
    return { lines: reports.flatMap(({ lines }) => lines), problems: reports.flatMap(({ problems }) => problems) };
  } catch (error) {
    if (error instanceof CompletionError)
      return { lines: [], problems: [`${error.error.detail}; see docs/runbook.md#model-unreachable`] };
    if (error instanceof HttpError) return { lines: [], problems: [`${error.message}; see docs/runbook.md#model-unreachable`] };
    throw error;
  }
}
