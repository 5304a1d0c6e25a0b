/** The proxies of one brokerd: one for each session, grant and list of hosts, for as long as calls come. */
import { mkdir, rm } from "node:fs/promises";
import { AbsPath, type HostPattern } from "@boxmaker/proto";
import type { Launch } from "../box-child.ts";
import type { RunSpec } from "../run-spec.ts";
import type { RunErrorCode } from "../runtime.ts";
import { EgressProxy } from "./egress-proxy.ts";

/** No proxy serves a new call when it is older: what resolves names on this machine may have changed since it started. */
export const MAX_AGE_MS = 600_000;
/** Proxies that wait for a next call; one more ends the one that has waited longest. */
const MAX_IDLE = 8;

/** A proxy for one call. `release` must be called once nothing of the call's box is left. */
export type Lease =
  | { readonly kind: "ready"; readonly directory: AbsPath; readonly release: () => void }
  | { readonly kind: "error"; readonly code: RunErrorCode; readonly detail: string };

export interface EgressProxiesOptions {
  /** Where the proxies' directories are made: the runner's own, see {@link sweepProxyDirectories}. */
  readonly parent: AbsPath;
  readonly launch: (directory: AbsPath, hosts: readonly HostPattern[]) => Launch;
  /** How long a proxy waits for a next call. */
  readonly idleMs: number;
  /** For tests: see {@link EgressProxy}. */
  readonly readyMs?: number;
}

interface Entry {
  readonly key: string;
  readonly proxy: EgressProxy;
  /** Aborts when it is too old for a new call. */
  readonly aged: AbortSignal;
  users: number;
  /** Goes up with each use and each end of one, so that an earlier wait for the next one is void. */
  turn: number;
}

/** Makes the directory that the proxies' own are made in, without any that an earlier brokerd left. */
export async function sweepProxyDirectories(runner: AbsPath): Promise<AbsPath> {
  const parent = AbsPath.parse(`${runner}/egress`);
  await rm(parent, { recursive: true, force: true });
  await mkdir(parent, { mode: 0o700 });
  return parent;
}

/** Everything that two calls must have in common to go out by the same proxy. */
function keyOf({ session, grantSha256, egress }: RunSpec): string {
  return JSON.stringify([session, grantSha256, egress]);
}

export class EgressProxies implements AsyncDisposable {
  readonly #options: EgressProxiesOptions;
  /** Those that may serve a next call, the one whose last use ended first in front. */
  readonly #usable = new Map<string, Entry>();
  readonly #running = new Set<EgressProxy>();
  #stopping = false;

  constructor(options: EgressProxiesOptions) {
    this.#options = options;
  }

  /** Gets a proxy that listens. Never rejects; aborting the signal gives up waiting for it. */
  async acquire(spec: RunSpec, signal: AbortSignal): Promise<Lease> {
    if (this.#stopping || signal.aborted) return { kind: "error", code: "cancelled", detail: "brokerd is stopping" };
    const entry = this.#find(spec);
    entry.users++;
    entry.turn++;
    const aborted = Promise.withResolvers<"aborted">();
    const onAbort = (): void => aborted.resolve("aborted");
    signal.addEventListener("abort", onAbort, { once: true });
    const start = await Promise.race([entry.proxy.started, aborted.promise]);
    signal.removeEventListener("abort", onAbort);
    if (start !== "aborted" && start.kind === "ready") {
      return { kind: "ready", directory: start.directory, release: () => this.#release(entry) };
    }
    if (start !== "aborted") this.#retire(entry);
    this.#release(entry);
    return start === "aborted"
      ? { kind: "error", code: "cancelled", detail: "brokerd is stopping" }
      : { kind: "error", code: "egress_failed", detail: start.problem };
  }

  /** Lets no proxy serve another call; those that serve one end with it. */
  dropAll(): void {
    for (const entry of this.#usable.values()) this.#retire(entry);
  }

  /** Ends all of them, whatever they serve. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    this.#usable.clear();
    for (const proxy of this.#running) proxy.stop();
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  #find(spec: RunSpec): Entry {
    const key = keyOf(spec);
    const known = this.#usable.get(key);
    if (known !== undefined && !known.aged.aborted) return known;
    if (known !== undefined) this.#retire(known);
    const { parent, launch, readyMs } = this.#options;
    const { egress } = spec;
    const proxy = new EgressProxy({
      parent,
      launch: (directory) => launch(directory, egress),
      ...(readyMs === undefined ? {} : { readyMs }),
    });
    const entry: Entry = { key, proxy, aged: AbortSignal.timeout(MAX_AGE_MS), users: 0, turn: 0 };
    this.#usable.set(key, entry);
    this.#running.add(proxy);
    const onEnded = (): void => {
      this.#running.delete(proxy);
      this.#forget(entry);
    };
    proxy.ended.then(onEnded, onEnded);
    return entry;
  }

  #forget(entry: Entry): void {
    if (this.#usable.get(entry.key) === entry) this.#usable.delete(entry.key);
  }

  #retire(entry: Entry): void {
    this.#forget(entry);
    if (entry.users === 0) entry.proxy.stop();
  }

  #release(entry: Entry): void {
    entry.users--;
    entry.turn++;
    if (entry.users > 0) return;
    if (this.#usable.get(entry.key) !== entry) {
      entry.proxy.stop();
      return;
    }
    // To the back of the line.
    this.#usable.delete(entry.key);
    this.#usable.set(entry.key, entry);
    const idle = [...this.#usable.values()].filter(({ users }) => users === 0);
    for (const longest of idle.slice(0, Math.max(0, idle.length - MAX_IDLE))) this.#retire(longest);
    const { turn } = entry;
    AbortSignal.timeout(this.#options.idleMs).addEventListener("abort", () => {
      if (entry.turn === turn) this.#retire(entry);
    });
  }
}
