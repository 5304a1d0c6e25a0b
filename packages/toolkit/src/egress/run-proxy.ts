/** The program of the proxy's container, from its command line to its end. */
import { quoteText } from "@boxmaker/proto";
import { dialDirectly } from "./dial.ts";
import { EgressProxy, PROXY_LIMITS } from "./egress-proxy.ts";
import { lookUpBy } from "./look-up.ts";
import { readProxyArguments } from "./proxy-arguments.ts";

/** The process, as the proxy needs it. */
export interface ProxyProcess {
  readonly args: readonly string[];
  /** Prints a line on standard output. */
  readonly print: (line: string) => void;
  /** Prints a line on standard error. */
  readonly log: (line: string) => void;
  /** Aborts when the program is to end. */
  readonly stopping: AbortSignal;
}

/**
 * Serves until it is told to stop or nobody uses it any more. Prints `ready` once it listens.
 *
 * @returns the exit status: 0 it has ended, 1 it can't listen, 2 misuse
 */
export async function runProxy({ args, print, log, stopping }: ProxyProcess): Promise<number> {
  const given = readProxyArguments(args);
  if (given.kind === "misuse") {
    log(given.problem);
    return 2;
  }
  const { socketPath, allow } = given;
  const opening = await EgressProxy.open({
    socketPath,
    allow,
    lookUp: lookUpBy(null),
    dial: dialDirectly,
    log,
    limits: PROXY_LIMITS,
  });
  if (opening.kind === "refused") {
    log(`can't listen on ${quoteText(socketPath)}: ${opening.problem}`);
    return 1;
  }
  await using _proxy = opening.proxy;
  print("ready");
  const stopped = Promise.withResolvers<void>();
  if (stopping.aborted) stopped.resolve();
  stopping.addEventListener("abort", () => stopped.resolve(), { once: true });
  await Promise.race([stopped.promise, opening.proxy.unused]);
  return 0;
}
