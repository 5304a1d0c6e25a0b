/** Looks for a model server at the ports where the usual ones listen. */
import { readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import { type Listener, readListeners } from "./listeners.ts";

/** A server that answered. `model` is the first that it offers. */
export interface FoundServer {
  readonly url: string;
  readonly model: string;
}

/** llama-server (two defaults, by version), Ollama, LM Studio, vLLM. */
const USUAL_PORTS = [8080, 9931, 11434, 1234, 8000];
const PROBE_MS = 2000;
const MAX_ANSWER = 1024 * 1024;

/** A foreign format, read leniently: only the first model's id is used. */
const ModelList = z.looseObject({ data: z.tuple([z.looseObject({ id: z.string() })], z.unknown()) });

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

/** Asks a server which models it has. `undefined` where it isn't an OpenAI-compatible server or doesn't answer in time. */
export async function probeServer(url: string): Promise<FoundServer | undefined> {
  try {
    const response = await fetch(new URL("/v1/models", url), { signal: AbortSignal.timeout(PROBE_MS), redirect: "error" });
    const text = await response.text();
    if (!response.ok || text.length > MAX_ANSWER) return undefined;
    const reading = readForeignJson(text);
    const list = reading.kind === "value" ? ModelList.safeParse(reading.value) : undefined;
    return list?.success === true ? { url, model: list.data.data[0].id } : undefined;
  } catch {
    // Not a server of this kind: the next port is tried.
    return undefined;
  }
}

/**
 * The first usual loopback port where a model server answers. A listener that belongs to neither this user nor root is passed over:
 * the owner must name it.
 */
export async function findServer(listeners?: readonly Listener[]): Promise<FoundServer | undefined> {
  const known = listeners ?? (await readListeners());
  const ours = new Set(known.filter(({ uid }) => uid === 0 || uid === process.getuid?.()).map(({ port }) => port));
  for (const port of USUAL_PORTS.filter((usual) => ours.has(usual))) {
    const found = await probeServer(`http://127.0.0.1:${port}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
