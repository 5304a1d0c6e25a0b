/** Looks for a model server at the ports where the usual ones listen. */
import { type JsonReading, readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import { type Listener, readListeners } from "./listeners.ts";

/** What a server is: one with slots, a llama-server's router, or one that only speaks the common API. */
export type FoundKind = "llama-server" | "router" | "openai";

/** A server that answered. `model` is the first that it offers and that, by its name, can chat. */
export interface FoundServer {
  readonly url: string;
  readonly model: string;
  readonly kind: FoundKind;
}

/** Where to look, and who listens there; tests name their own. */
export interface Search {
  readonly ports?: readonly number[];
  readonly listeners?: readonly Listener[];
}

/** llama-server (two defaults, by version), Ollama, LM Studio, vLLM. */
const USUAL_PORTS = [8080, 9931, 11434, 1234, 8000];
const PROBE_MS = 2000;
const MAX_ANSWER = 1024 * 1024;

/** A foreign format, read leniently: only the models' ids are used. */
const Model = z.looseObject({ id: z.string() });
const ModelList = z.looseObject({ data: z.tuple([Model], Model) });
/** Models of another kind, which Ollama and LM Studio list among the others. */
const NOT_FOR_CHAT = /embed|rerank|whisper/iu;

/**
 * The base address in what an owner calls a server's address: `/v1` at its end, as clients of OpenAI's API want it, is left out.
 * `undefined` for what is no http or https address, or one with a path, a query or a user name.
 */
export function baseAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, password, pathname, search, hash, origin } = new URL(text);
  if (!/^https?:$/u.test(protocol) || !/^\/(v1\/?)?$/u.test(pathname)) return undefined;
  return `${username}${password}${search}${hash}` === "" ? origin : undefined;
}

/** What only llama-server says about itself, alone and as a router. */
const Props = z.union([
  z.looseObject({ total_slots: z.number() }).transform(() => "llama-server" as const),
  z.looseObject({ role: z.literal("router") }).transform(() => "router" as const),
]);

interface Answer {
  readonly status: number;
  readonly json: JsonReading;
}

/** One small question. @throws whatever keeps the answer from coming, or from being small */
async function ask(url: string, path: string): Promise<Answer> {
  const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(PROBE_MS), redirect: "error" });
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    const piece: unknown = chunk;
    if (!(piece instanceof Uint8Array)) continue;
    bytes += piece.length;
    if (bytes > MAX_ANSWER) throw new RangeError("the answer is too large");
    pieces.push(piece);
  }
  return { status: response.status, json: readForeignJson(Buffer.concat(pieces).toString("utf8")) };
}

async function kindOf(url: string): Promise<FoundKind> {
  try {
    // A question to a router mustn't make it load a model: that could end another one that is streaming.
    const { status, json } = await ask(url, "/props?autoload=false");
    const props = status === 200 && json.kind === "value" ? Props.safeParse(json.value) : undefined;
    return props?.success === true ? props.data : "openai";
  } catch {
    // It has answered the common question, so that is what it can.
    return "openai";
  }
}

/** Asks a server which models it has. `undefined` where it isn't an OpenAI-compatible server or doesn't answer in time. */
export async function probeServer(url: string): Promise<FoundServer | undefined> {
  try {
    const { status, json } = await ask(url, "/v1/models");
    const list = status === 200 && json.kind === "value" ? ModelList.safeParse(json.value) : undefined;
    if (list?.success !== true) return undefined;
    const [first, ...others] = list.data.data;
    const { id } = [first, ...others].find((model) => !NOT_FOR_CHAT.test(model.id)) ?? first;
    return { url, model: id, kind: await kindOf(url) };
  } catch {
    // Not a server of this kind: the next port is tried.
    return undefined;
  }
}

/** Whether a server is there that only answers those who have a key. A llama-server lists its models to anybody and hides the rest. */
export async function wantsKey(url: string): Promise<boolean> {
  try {
    for (const path of ["/v1/models", "/props?autoload=false"]) {
      const { status } = await ask(url, path);
      if (status === 401 || status === 403) return true;
    }
    return false;
  } catch {
    // Whatever is there, it doesn't say that it wants a key.
    return false;
  }
}

/**
 * The first usual loopback port where a model server answers. A port is passed over where anything that listens on it belongs to
 * neither this user nor root: which of them gets a connection isn't ours to say, and the owner must name such a server.
 */
export async function findServer({ ports = USUAL_PORTS, listeners }: Search = {}): Promise<FoundServer | undefined> {
  const known = listeners ?? (await readListeners());
  const isOurs = ({ uid }: Listener): boolean => uid === 0 || uid === process.getuid?.();
  for (const port of ports) {
    const there = known.filter((listener) => listener.port === port);
    if (there.length === 0 || !there.every(isOurs)) continue;
    const found = await probeServer(`http://127.0.0.1:${port}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
