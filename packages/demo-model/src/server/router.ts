/** A llama-server in router mode: one model behind it, which every question about it loads unless the question says otherwise. */
import { z } from "zod";
import { parseJson } from "../api/chat-request.ts";
import { errorBody } from "../api/error-body.ts";
import type { RouteAnswer } from "./routes.ts";

/** Whether the model is in memory. */
export type RouterState = "loaded" | "unloaded";

/** A request to the router, and the name of its one model. */
export interface RouterRequest {
  readonly url: URL;
  readonly route: string;
  readonly body: Buffer;
  readonly modelName: string;
}

/** The answer; `autoloads` where the request would have loaded the model, and so may have ended another one that was streaming. */
export interface RouterAnswer extends RouteAnswer {
  readonly autoloads: boolean;
}

/** What the router answers by itself, whatever is loaded. */
const OWN_ROUTES = ["GET /health", "GET /v1/health", "GET /models", "GET /v1/models"];
const ROUTER_PROPS = {
  role: "router",
  max_instances: 1,
  models_autoload: true,
  default_generation_settings: { params: null, n_ctx: 0 },
};

const Named = z.looseObject({ model: z.string() });

/** Answers for the router; `ofModel` answers for the model behind it. */
export function answerAsRouter(state: RouterState, request: RouterRequest, ofModel: () => RouteAnswer): RouterAnswer {
  const { url, route, body, modelName } = request;
  const own = (answer: RouteAnswer): RouterAnswer => ({ ...answer, autoloads: false });
  if (OWN_ROUTES.includes(route)) {
    return own(ofModel());
  }
  const named = Named.safeParse(parseJson(body.toString()));
  const model = route.startsWith("GET ") ? url.searchParams.get("model") : named.success ? named.data.model : null;
  if (model === null) {
    return own(route === "GET /props" ? { status: 200, body: ROUTER_PROPS } : bad("model name is missing from the request"));
  }
  if (model !== modelName) {
    return own(bad(`model '${model}' not found`));
  }
  if (state === "loaded") {
    return own(ofModel());
  }
  const autoloads = url.searchParams.get("autoload") !== "false";
  return { ...bad("model is not loaded"), autoloads };
}

function bad(message: string): RouteAnswer {
  return { status: 400, body: errorBody(400, message, "invalid_request_error") };
}
