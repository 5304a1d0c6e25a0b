/**
 * AgentDojo's calls in words that the broker knows. It has no `send_email`, so every tool stands at a host of its own and a call of
 * it is an http_fetch: the host is the tool, the path says to whom the call goes, the query holds all arguments. Grants then speak
 * about tools by `hosts` and about destinations by a prefix of `url`.
 */
import { canonicalJson } from "@boxmaker/proto";
import { type Call, type Suite, type Tool, toolOf } from "./corpus.ts";

/** Somebody or something that a call reaches, and the argument that names it. */
export interface Destination {
  readonly argument: string;
  readonly value: string;
}

/** encodeURIComponent leaves these as they are, and URL parsers don't agree about them. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/gu, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A mail address is spelled domain first, so that a prefix can name a domain. */
function encodeDestination(value: string): string {
  const at = value.lastIndexOf("@");
  return at === -1 ? encode(value) : `${encode(value.slice(at + 1))}/${encode(value.slice(0, at))}`;
}

export function hostOfTool(suite: Suite, tool: Tool): string {
  return `${tool.name.replaceAll("_", "-")}.${suite.name}.example`;
}

/** Where calls begin that go to this destination; with an empty name before the `@`, to anyone of a mail domain. */
export function prefixOf(suite: Suite, tool: Tool, { argument, value }: Destination): string {
  const path = encodeDestination(value);
  return `https://${hostOfTool(suite, tool)}/to/${encode(argument)}/${path}${path.endsWith("/") ? "" : "/"}`;
}

/** Where calls begin that go to nobody. */
export function prefixOfNobody(suite: Suite, tool: Tool): string {
  return `https://${hostOfTool(suite, tool)}/nobody/`;
}

function leavesOf(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return [typeof value === "string" ? value : canonicalJson(value)];
}

/** Everyone whom the call reaches, by the tool's destination arguments. */
export function destinationsOf(tool: Tool, call: Call): readonly Destination[] {
  return tool.proposed.destination_args.flatMap((argument) => leavesOf(call.args[argument]).map((value) => ({ argument, value })));
}

/**
 * The call as the broker is asked for it: once per destination, as a message to three people is three deliveries. What becomes of
 * the call is the strictest of the answers.
 */
export function urlsOf(suite: Suite, call: Call): readonly string[] {
  const tool = toolOf(suite, call.function);
  const query = Object.entries(call.args)
    .map(([name, value]) => `${encode(name)}=${encode(typeof value === "string" ? value : JSON.stringify(value))}`)
    .join("&");
  const destinations = destinationsOf(tool, call);
  const prefixes =
    destinations.length === 0 ? [prefixOfNobody(suite, tool)] : destinations.map((one) => prefixOf(suite, tool, one));
  return prefixes.map((prefix) => `${prefix}?${query}`);
}
