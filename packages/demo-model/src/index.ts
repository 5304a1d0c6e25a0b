/** A scripted stand-in for llama-server: the demo model, and the tests' model server. */
export {
  type Exchange,
  type Reply,
  type ReplyCall,
  refuse,
  reply,
  replySteps,
  type Step,
  type StreamOptions,
  stream,
} from "./answer/exchange.ts";
export type { Flavour } from "./answer/play.ts";
export type { ChatMessage, ChatRequest } from "./api/chat-request.ts";
export type { CallPiece, Delta, FinishReason } from "./api/chunk.ts";
export { errorBody } from "./api/error-body.ts";
export { INTRODUCTION } from "./demo/demo-reply.ts";
export { serveDemoModel } from "./demo/serve-demo-model.ts";
export { ROUTER_EVICTION, UNIFIED_OVERFLOW } from "./recorded/llama-server.ts";
export { LM_STUDIO } from "./recorded/lm-studio.ts";
export { OLLAMA } from "./recorded/ollama.ts";
export type { ServerRecording } from "./recorded/recording.ts";
export { VLLM } from "./recorded/vllm.ts";
export type { CannedAnswer, CannedRoutes } from "./server/canned.ts";
export type { ControlBehaviour, ListenAddress } from "./server/llama-server.ts";
export { type ModelServer, type ModelServerOptions, type Script, startModelServer } from "./server/model-server.ts";
export type { AnswerEnd, ControlRequest, RecordedRequest, Violation } from "./server/requests.ts";
export type { RouterState } from "./server/router.ts";
export type { CacheBehaviour } from "./slots/slots.ts";
