/** The bytes of a completion request. Key order is fixed, and the messages come last, so that a request begins with the last one's bytes. */
import { canonicalJson } from "@boxmaker/proto";
import type { ConfigFile } from "../config/config-file.ts";
import type { CompletionRequest } from "./completion.ts";
import type { ServerInfo } from "./model-server.ts";

/** The settings that shape every request alike. */
export interface BodySettings {
  readonly model: string;
  readonly sampling: ConfigFile["sampling"];
  readonly thinkingCap: number;
}

/** What only a llama-server knows; sent to no other. */
function pinning(settings: BodySettings, slot: number | null): readonly string[] {
  const { thinkingCap, sampling } = settings;
  return [
    `"id_slot":${slot ?? -1}`,
    '"cache_prompt":true',
    '"return_progress":true',
    // Two names of one setting, of older and newer servers.
    `"thinking_budget_tokens":${thinkingCap}`,
    `"reasoning_budget_tokens":${thinkingCap}`,
    '"reasoning_control":true',
    `"chat_template_kwargs":{"enable_thinking":${sampling.thinking}}`,
  ];
}

/** The request's JSON. `messages` and `tools` are JSON texts already and go in as they are. */
export function buildBody(settings: BodySettings, server: ServerInfo, request: CompletionRequest): string {
  const { sampling } = settings;
  const members = [
    `"model":${canonicalJson(settings.model)}`,
    '"stream":true',
    '"stream_options":{"include_usage":true}',
    ...(server.kind === "llama-server" ? pinning(settings, request.slot) : []),
    `"max_tokens":${sampling.max_tokens}`,
    ...(sampling.temperature === undefined ? [] : [`"temperature":${sampling.temperature}`]),
    ...(sampling.top_p === undefined ? [] : [`"top_p":${sampling.top_p}`]),
    ...(sampling.min_p === undefined ? [] : [`"min_p":${sampling.min_p}`]),
    ...(sampling.top_k === undefined ? [] : [`"top_k":${sampling.top_k}`]),
    ...(sampling.seed === undefined ? [] : [`"seed":${sampling.seed}`]),
    ...(request.tools === "[]" ? [] : [`"tools":${request.tools}`]),
    `"messages":[${request.messages.join(",")}]`,
  ];
  return `{${members.join(",")}}`;
}
