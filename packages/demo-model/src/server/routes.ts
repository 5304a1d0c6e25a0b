/** The routes that are answered at once: what the server is, and how many tokens a text has. */
import { z } from "zod";
import type { Flavour } from "../answer/play.ts";
import { parseJson, readChatRequest } from "../api/chat-request.ts";
import { errorBody } from "../api/error-body.ts";
import type { Slots } from "../slots/slots.ts";
import { CHAT_TEMPLATE, renderPrompt } from "../tokens/template.ts";
import { tokenId, tokenize } from "../tokens/tokenize.ts";
import type { ControlRequest } from "./requests.ts";

/** What the routes tell. */
export interface RouteContext {
  readonly modelName: string;
  readonly flavour: Flavour;
  readonly slots: Slots;
  /** Ends a thought and gives the answer's body; undefined if the server knows no such route. */
  readonly control: ((wanted: ControlRequest) => object) | undefined;
}

/** A status and a JSON body. */
export interface RouteAnswer {
  readonly status: number;
  readonly body: unknown;
}

type Route = (body: Buffer, context: RouteContext) => RouteAnswer;

const TokenizeRequest = z.looseObject({ content: z.string(), with_pieces: z.boolean().nullish() });
const Control = z.looseObject({ id: z.string(), action: z.literal("reasoning_end") });

const models: Route = (_body, { modelName, slots }) =>
  ok({
    object: "list",
    data: [
      {
        id: modelName,
        object: "model",
        owned_by: "boxmaker",
        meta: { n_ctx: slots.contextTokens, n_ctx_train: slots.contextTokens },
      },
    ],
  });
const health: Route = () => ok({ status: "ok" });

/** What every server of the kind answers. */
const COMMON_ROUTES: Readonly<Record<string, Route>> = { "GET /v1/models": models };

/** What only llama-server answers. */
const LLAMA_ROUTES: Readonly<Record<string, Route>> = {
  "GET /health": health,
  "GET /v1/health": health,
  "GET /models": models,
  "GET /slots": (_body, { slots }) => ok(slots.report()),
  "GET /props": (_body, context) => ok(props(context)),
  "POST /tokenize": (body) => {
    const request = TokenizeRequest.safeParse(parseJson(body.toString()));
    if (!request.success) {
      return bad('"content" must be a text');
    }
    const tokens = tokenize(request.data.content);
    const withPieces = request.data.with_pieces === true;
    return ok({ tokens: tokens.map((piece) => (withPieces ? { id: tokenId(piece), piece } : tokenId(piece))) });
  },
  "POST /apply-template": (body) => ofChat(body, (prompt) => ({ prompt })),
  "POST /v1/chat/completions/input_tokens": (body) =>
    ofChat(body, (prompt) => ({ input_tokens: tokenize(prompt).length, object: "response.input_tokens" })),
  "POST /v1/chat/completions/control": (body, { control }) => {
    const request = Control.safeParse(parseJson(body.toString()));
    if (control === undefined) {
      return notFound();
    }
    return request.success ? ok(control(request.data)) : bad('"id" and a known "action" are needed');
  },
};

/** Answers `METHOD /path`. */
export function answerSimpleRoute(route: string, body: Buffer, context: RouteContext): RouteAnswer {
  const routes = context.flavour === "llama-server" ? { ...COMMON_ROUTES, ...LLAMA_ROUTES } : COMMON_ROUTES;
  const answer = Object.hasOwn(routes, route) ? routes[route] : undefined;
  return answer === undefined ? notFound() : answer(body, context);
}

/** Tells whether a path is answered without the server's key. */
export function isPublicRoute(path: string): boolean {
  return ["/health", "/v1/health", "/models", "/v1/models"].includes(path);
}

function props({ modelName, slots }: RouteContext): object {
  return {
    default_generation_settings: { params: {}, n_ctx: slots.contextTokens },
    total_slots: slots.count,
    model_alias: modelName,
    model_path: `(none: ${modelName})`,
    chat_template: CHAT_TEMPLATE,
    chat_template_caps: {
      supports_tools: true,
      supports_tool_calls: true,
      supports_parallel_tool_calls: true,
      supports_preserve_reasoning: true,
      supports_system_role: true,
    },
    modalities: { vision: false, audio: false },
    bos_token: "",
    eos_token: "<|im_end|>",
    build_info: "demo-model",
    is_sleeping: false,
    endpoint_slots: true,
  };
}

function ofChat(body: Buffer, answer: (prompt: string) => object): RouteAnswer {
  const reading = readChatRequest(body);
  return reading.kind === "request" ? ok(answer(renderPrompt(reading.request))) : { status: reading.status, body: reading.body };
}

function ok(body: unknown): RouteAnswer {
  return { status: 200, body };
}

function bad(message: string): RouteAnswer {
  return { status: 400, body: errorBody(400, message, "invalid_request_error") };
}

function notFound(): RouteAnswer {
  return { status: 404, body: errorBody(404, "File Not Found", "not_found_error") };
}
