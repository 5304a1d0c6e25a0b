/** Renders a conversation as the text whose tokens the cache holds. */
import { type ChatMessage, type ChatRequest, contentText } from "../api/chat-request.ts";

/** Stands for the chat template in `/props`; the rendering below is what it describes. */
export const CHAT_TEMPLATE =
  "{#- demo-model -#}{%- for m in messages -%}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor -%}<|im_start|>assistant\n";

/** What ends a message. */
export const END_OF_MESSAGE = "<|im_end|>";

/** The prompt of a request, up to where the reply begins. */
export function renderPrompt(request: ChatRequest): string {
  const tools = request.tools ?? [];
  const preamble = tools.length === 0 ? "" : `<|im_start|>tools\n${JSON.stringify(tools)}${END_OF_MESSAGE}\n`;
  const messages = request.messages.map((message) => `<|im_start|>${message.role}\n${renderBody(message)}${END_OF_MESSAGE}\n`);
  return `${preamble}${messages.join("")}<|im_start|>assistant\n`;
}

function renderBody(message: ChatMessage): string {
  const calls = (message.tool_calls ?? []).map((call) => ({ name: call.function.name, arguments: call.function.arguments }));
  return renderReply(message.reasoning_content ?? "", contentText(message), calls);
}

/** What a reply looks like to the cache: the same text when it is written and when it comes back in the history. */
export function renderReply(
  reasoning: string,
  content: string,
  calls: readonly { readonly name: string; readonly arguments: string }[],
): string {
  const thought = reasoning === "" ? "" : `<think>\n${reasoning}\n</think>\n\n`;
  const called = calls.map((call) => `<tool_call>\n${call.name}\n${call.arguments}\n</tool_call>`);
  return `${thought}${content}${called.join("")}`;
}
