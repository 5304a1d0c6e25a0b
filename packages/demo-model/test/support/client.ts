/** Asks a model server over real HTTP. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

interface Target {
  readonly url: string;
}

/** A request that is under way. */
export interface Sent {
  readonly request: ClientRequest;
  /** The head of the answer; rejects when the connection breaks before it. */
  readonly head: Promise<IncomingMessage>;
}

/** Starts a request. */
export function send({ url }: Target, method: string, path: string, body: unknown, headers: Record<string, string> = {}): Sent {
  const where = url.startsWith("unix:")
    ? { socketPath: url.slice("unix:".length) }
    : { host: new URL(url).hostname, port: new URL(url).port };
  const outgoing = request({ ...where, method, path, headers, agent: false });
  const head = once(outgoing, "response").then(([response]) => response as IncomingMessage);
  // Not every test waits for the answer, and some break the connection themselves.
  head.catch(() => undefined);
  outgoing.on("error", () => undefined);
  outgoing.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  return { request: outgoing, head };
}

/** A whole answer: status and text. */
export async function ask(target: Target, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await send(target, method, path, body, headers).head;
  return { status: response.statusCode, text: await text(response), headers: response.headers };
}

/** A whole answer: status and JSON, taken for a `Body`. */
export async function askJson<Body>(
  target: Target,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number | undefined; json: Body }> {
  const answer = await ask(target, method, path, body);
  return { status: answer.status, json: JSON.parse(answer.text) as Body };
}

/** What an answer's body held, and whether it came to its end. */
export async function readUntilEnd(response: IncomingMessage): Promise<{ text: string; complete: boolean }> {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => undefined);
  response.resume();
  await new Promise((resolve) => {
    response.once("close", resolve);
  });
  return { text: Buffer.concat(chunks).toString(), complete: response.complete };
}

/** What the tests look at in an event. */
export interface ServerEvent {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
  readonly prompt_progress?: { readonly total: number };
  readonly timings?: { readonly cache_n: number; readonly prompt_n: number; readonly predicted_n: number };
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

/** The events of a stream, without its `[DONE]`. */
export function events(body: string): readonly ServerEvent[] {
  return body
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)) as ServerEvent);
}

/** Whether a stream came to its end. */
export function isDone(body: string): boolean {
  return body.endsWith("}\n\ndata: [DONE]\n\n");
}

interface Assembled {
  content: string;
  reasoning: string;
  calls: { id?: string; name?: string; arguments: string }[];
  finish: string | null;
}

/** Adds up the deltas of a stream. */
export function assemble(body: string): Assembled {
  const sum: Assembled = { content: "", reasoning: "", calls: [], finish: null };
  for (const { choices } of events(body)) {
    const [choice] = choices;
    sum.content += choice?.delta.content ?? "";
    sum.reasoning += choice?.delta.reasoning_content ?? "";
    sum.finish = choice?.finish_reason ?? sum.finish;
    for (const piece of choice?.delta.tool_calls ?? []) {
      const call = sum.calls[piece.index] ?? { arguments: "" };
      if (piece.id !== undefined) call.id = piece.id;
      if (piece.function.name !== undefined) call.name = piece.function.name;
      call.arguments += piece.function.arguments ?? "";
      sum.calls[piece.index] = call;
    }
  }
  return sum;
}
