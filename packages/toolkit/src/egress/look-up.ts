/** Asks DNS for the addresses of a host: names of the machine's own files and search domains don't count. */

/** The addresses of a host in the order in which they may be tried; none where there is no answer. Must not reject. */
export type LookUp = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

const TRY_MS = 2_000;
const TRIES = 2;

/** Asks these servers (`address:port`), or with null those of /etc/resolv.conf. */
export function lookUpBy(servers: readonly string[] | null): LookUp {
  return async (host, signal) => {
    if (signal.aborted) return [];
    // Loaded here, because a box that fetches nothing would pay for it at its start.
    const { Resolver } = await import("node:dns/promises");
    // One for each question: it has no memory of earlier answers, and can be told to stop.
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    if (servers !== null) resolver.setServers(servers);
    const stop = (): void => resolver.cancel();
    signal.addEventListener("abort", stop, { once: true });
    // A host may well have addresses of one kind only, which is an error of the other question.
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    signal.removeEventListener("abort", stop);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
