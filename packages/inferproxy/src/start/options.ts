/** Reads the command line. */
import { isAbsolute } from "node:path";
import { parseArgs } from "node:util";
import { escapeText, quoteText } from "@boxmaker/proto";
import type { Limits } from "../limits/connection-limits.ts";
import { parseUpstreamUrl, type Upstream } from "./upstream-url.ts";

/** One line that says how the program is called. */
export const USAGE =
  "usage: inferproxy --listen PATH --upstream http(s)://HOST[:PORT] [--api-key-file FILE] [--ca-file FILE] [--max-connections N] [--rate N] [--burst N]";

/** The limits where the command line names none: a box has one loopd, with a few connections. */
export const DEFAULT_LIMITS: Limits = { maxConnections: 32, ratePerSecond: 20, burst: 40 };

/** No limit may be so high that it is none. */
const MAX_LIMIT = 100_000;

/** The longest path that fits into a socket's address on Linux, in bytes. */
const MAX_SOCKET_PATH_BYTES = 107;

/** What the command line asks for. */
export interface Options {
  readonly listenPath: string;
  readonly upstream: Upstream;
  readonly apiKeyFile: string | null;
  readonly caFile: string | null;
  readonly limits: Limits;
}

/** Options, a call for help, or what is wrong with the command line. */
export type OptionsResult =
  | { readonly kind: "options"; readonly options: Options }
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly problem: string };

/** Parses the arguments after the program's name. */
export function parseOptions(args: readonly string[]): OptionsResult {
  let values: ReturnType<typeof parseFlags>;
  try {
    values = parseFlags(args);
  } catch (error) {
    // parseArgs throws for what the caller typed; nothing has been started yet.
    return wrong(error instanceof Error ? escapeText(error.message.split(/\. |\n/u, 1)[0] ?? "") : "bad arguments");
  }
  if (values.help === true) {
    return { kind: "help" };
  }
  const { listen, upstream: upstreamText } = values;
  if (listen === undefined || upstreamText === undefined) {
    return wrong("--listen and --upstream are needed");
  }
  if (!isAbsolute(listen) || listen.endsWith("/") || listen.includes("\0")) {
    return wrong(`--listen is ${quoteText(listen)}, expected an absolute path of a socket`);
  }
  if (Buffer.byteLength(listen) > MAX_SOCKET_PATH_BYTES) {
    return wrong(`--listen is ${quoteText(listen)}, expected a path of at most ${MAX_SOCKET_PATH_BYTES} bytes`);
  }
  const upstream = parseUpstreamUrl(upstreamText);
  if (upstream === undefined) {
    // Not shown: an address with a user name in it holds a password as well.
    return wrong("--upstream is expected to be http(s)://host[:port] without user, path or query");
  }
  const limits: Record<keyof Limits, number> = { ...DEFAULT_LIMITS };
  const flags = [
    ["max-connections", "maxConnections"],
    ["rate", "ratePerSecond"],
    ["burst", "burst"],
  ] as const;
  for (const [flag, name] of flags) {
    const text = values[flag];
    if (text !== undefined) {
      const limit = /^[1-9][0-9]{0,5}$/u.test(text) ? Number(text) : 0;
      if (limit < 1 || limit > MAX_LIMIT) {
        return wrong(`--${flag} is ${quoteText(text)}, expected a whole number from 1 to ${MAX_LIMIT}`);
      }
      limits[name] = limit;
    }
  }
  const caFile = values["ca-file"] ?? null;
  if (caFile !== null && upstream.transport !== "tls") {
    return wrong("--ca-file is for an https upstream only");
  }
  return { kind: "options", options: { listenPath: listen, upstream, apiKeyFile: values["api-key-file"] ?? null, caFile, limits } };
}

function parseFlags(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      listen: { type: "string" },
      upstream: { type: "string" },
      "api-key-file": { type: "string" },
      "ca-file": { type: "string" },
      "max-connections": { type: "string" },
      rate: { type: "string" },
      burst: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
    strict: true,
    allowPositionals: false,
  }).values;
}

function wrong(problem: string): OptionsResult {
  return { kind: "wrong", problem };
}
