/** What the demo model says: a tool call for a request that it understands, the tool's result, or what it is. */
import { posix } from "node:path";
import type { Reply } from "../answer/exchange.ts";
import { type ChatMessage, type ChatRequest, contentText, parseJson } from "../api/chat-request.ts";
import { type Intent, parseIntent } from "./intent.ts";

/** Said to whatever the demo model doesn't understand. */
export const INTRODUCTION = [
  "I am Boxmaker's built-in demo model. I am NOT a language model: I match a few plain English requests against patterns, so that you can see the box work with nothing else installed.",
  "",
  "Try one of these:",
  "- read the file todo.md in my notes",
  '- write "buy milk" to shopping.md in my notes',
  "- list my notes",
  "- run `ls -l`",
  "- fetch https://example.com/",
  "- read /etc/passwd (which no grant allows)",
  "",
  "To talk with a real model, start a server such as llama-server and start Boxmaker again.",
].join("\n");

interface Call {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** Decides the reply to a conversation. */
export function demoReply(request: ChatRequest): Reply {
  const { messages } = request;
  const asked = messages.findLastIndex((message) => message.role === "user");
  const result = messages.findLastIndex((message) => message.role === "tool");
  const last = messages[result];
  if (result > asked && last !== undefined) {
    return { content: describeResult(messages, last) };
  }
  const user = messages[asked];
  const intent = parseIntent(user === undefined ? "" : contentText(user));
  const call = callFor(intent, notesFolder(messages));
  return typeof call === "string" ? { content: call } : offer(call, request);
}

/** The folder that the system prompt names in a line of its own. */
function notesFolder(messages: readonly ChatMessage[]): string | undefined {
  const system = messages.filter((message) => message.role === "system").map(contentText);
  return /^Notes folder:\s*(?<folder>\/.*\S)\s*$/mu.exec(system.join("\n"))?.groups?.["folder"];
}

/** The call that does what was asked for, or what to say instead. */
function callFor(intent: Intent, notes: string | undefined): Call | string {
  switch (intent.kind) {
    case "read":
      return withPath(intent.path, notes, (path) => ({ tool: "read_file", arguments: { path } }));
    case "write":
      return withPath(intent.path, notes, (path) => ({ tool: "write_file", arguments: { path, content: intent.text } }));
    case "run":
      return { tool: "shell", arguments: { command: intent.command, ...(notes === undefined ? {} : { cwd: notes }) } };
    case "fetch":
      return { tool: "http_fetch", arguments: { url: intent.url } };
    case "list":
      return withPath(intent.path ?? ".", notes, (path) => ({
        tool: "shell",
        arguments: { command: `ls -l ${shellQuote(path)}` },
      }));
    case "other":
      return INTRODUCTION;
    default:
      return intent satisfies never;
  }
}

function withPath(path: string, notes: string | undefined, call: (path: string) => Call): Call | string {
  if (posix.isAbsolute(path)) {
    return call(posix.normalize(path));
  }
  if (notes === undefined || path.startsWith("~")) {
    return `I am the demo model and don't know which folder "${path}" is in: name the file by its whole path, such as /home/you/notes/todo.md.`;
  }
  return call(posix.join(notes, path).replace(/(?<=.)\/$/u, ""));
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The call in the form in which the request offers its tool: by its own name, or by way of `call_tool`. */
function offer(call: Call, request: ChatRequest): Reply {
  const offered = new Set((request.tools ?? []).map((tool) => tool.function.name));
  if (offered.has(call.tool)) {
    return { calls: [{ name: call.tool, arguments: JSON.stringify(call.arguments) }] };
  }
  if (offered.has("call_tool")) {
    return { calls: [{ name: "call_tool", arguments: JSON.stringify({ name: call.tool, arguments: call.arguments }) }] };
  }
  return { content: `I am the demo model. For this I would need the tool ${call.tool}, which I was not offered.` };
}

/** How a result begins that says why there is none. */
const NOT_DONE = /^(?:failed|error|already called|not run|the call was not|read_file|write_file|shell|http_fetch)\b[^\n]*[:.]/iu;

/** The answer after a tool has answered. */
function describeResult(messages: readonly ChatMessage[], result: ChatMessage): string {
  const text = contentText(result);
  const call = calledBy(messages, result);
  if (/^denied\b/iu.test(text)) {
    return `I could not do it: the call was denied. The reason I was told: ${text.replace(/^denied:?\s*/iu, "")}`;
  }
  if (NOT_DONE.test(text)) {
    return `I could not do it. What I was told: ${text}`;
  }
  if (call === undefined) {
    return `Here is the result:\n\n${text}`;
  }
  switch (call.tool) {
    case "read_file":
      return `Here is ${call.arguments["path"] ?? "the file"}:\n\n${text}`;
    case "write_file":
      return `Done: ${call.arguments["path"] ?? "the file"} is written. ${text}`.trimEnd();
    case "shell":
      return text.trim() === "" ? "The command ran and printed nothing." : `The command printed:\n\n${text}`;
    case "http_fetch":
      return `Here is ${call.arguments["url"] ?? "the page"}:\n\n${text}`;
    default:
      return `Here is the result:\n\n${text}`;
  }
}

/** The call that a tool message answers, looked through `call_tool`. */
function calledBy(messages: readonly ChatMessage[], result: ChatMessage): Call | undefined {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  const call = calls.findLast(({ id }) => id === result.tool_call_id) ?? calls.at(-1);
  if (call === undefined) {
    return undefined;
  }
  const given = asRecord(parseJson(call.function.arguments));
  const isIndirect = call.function.name === "call_tool" && typeof given["name"] === "string";
  const tool = isIndirect ? String(given["name"]) : call.function.name;
  const pairs = Object.entries(isIndirect ? asRecord(given["arguments"]) : given);
  return { tool, arguments: Object.fromEntries(pairs.map(([key, value]) => [key, String(value)])) };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
