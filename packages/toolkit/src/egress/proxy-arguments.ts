/** The command line of the egress proxy. */
import { parseArgs } from "node:util";
import { escapeText, isHostNamePattern, quoteText } from "@boxmaker/proto";

/** What to listen on and what may be reached, or one line that says what is wrong. */
export type ProxyArguments =
  | { readonly kind: "arguments"; readonly socketPath: string; readonly allow: readonly string[] }
  | { readonly kind: "misuse"; readonly problem: string };

const USAGE = "expected --socket PATH --allow HOST [--allow HOST]…";

function misuse(problem: string): ProxyArguments {
  return { kind: "misuse", problem };
}

/** Reads what follows `egress-proxy`. */
export function readProxyArguments(args: readonly string[]): ProxyArguments {
  try {
    const options = { socket: { type: "string", multiple: true }, allow: { type: "string", multiple: true } } as const;
    const { socket = [], allow = [] } = parseArgs({ args: [...args], options }).values;
    const [socketPath, ...more] = socket;
    if (socketPath === undefined || more.length > 0 || allow.length === 0) return misuse(USAGE);
    if (!socketPath.startsWith("/")) return misuse(`--socket ${quoteText(socketPath)}: expected an absolute path`);
    const wrong = allow.find((host) => !isHostNamePattern(host));
    if (wrong !== undefined) return misuse(`--allow ${quoteText(wrong)}: expected a host name, or '*.' and a host name`);
    return { kind: "arguments", socketPath, allow };
  } catch (error) {
    // parseArgs says in its error what it can't read: nothing is started.
    return misuse(`${USAGE}: ${error instanceof Error ? escapeText(error.message) : "unreadable"}`);
  }
}
