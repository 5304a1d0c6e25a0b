/** Asks DNS for the addresses of a host: names of the machine's own files and search domains don't count. */

/** The addresses of one kind that a host has, in the order in which they may be tried; none without an answer. Must not reject. */
export type LookUp = (host: string, family: 4 | 6, signal: AbortSignal) => Promise<readonly string[]>;

const TRY_MS = 2_000;
const TRIES = 2;

/** Asks these servers (`address:port`), or with null those of /etc/resolv.conf. */
export function lookUpBy(servers: readonly string[] | null): LookUp {
  return async (host, family, signal) => {
    if (signal.aborted) return [];
    // Loaded here, because a box that fetches nothing would pay for it at its start.
    const { Resolver } = await import("node:dns/promises");
    // One for each question: it has no memory of earlier answers, and can be told to stop.
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
    if (servers !== null) resolver.setServers(servers);
    const stop = (): void => resolver.cancel();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await (family === 4 ? resolver.resolve4(host) : resolver.resolve6(host));
    } catch {
      // No such name, no address of this kind, no server that answers: either way there is none to dial.
      return [];
    } finally {
      signal.removeEventListener("abort", stop);
    }
  };
}
