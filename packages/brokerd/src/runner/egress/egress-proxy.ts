/** One egress proxy: a box of its own that dials for the tools' boxes, and the directory with its socket that it shares with them. */
import { lstat, mkdtemp, rm } from "node:fs/promises";
import { AbsPath, quoteText } from "@boxmaker/proto";
import { type BoxChild, type Launch, startChild } from "../box-child.ts";

/** The name of the socket in the shared directory. */
const SOCKET = "proxy.sock";
const READY = "ready\n";
/** From the start of its box until the proxy says that it listens. */
export const READY_MS = 5_000;

export type ProxyStart =
  | { readonly kind: "ready"; readonly directory: AbsPath }
  | { readonly kind: "failed"; readonly problem: string };

export interface ProxyOptions {
  /** Where its directory is made. */
  readonly parent: AbsPath;
  /** How the box that has this directory is started. */
  readonly launch: (directory: AbsPath) => Launch;
  /** From the start of its box until it says that it listens; {@link READY_MS} unless given. */
  readonly readyMs?: number;
}

/** A proxy from its start to its end, after which neither its box nor its directory is left. */
export class EgressProxy {
  /** Never rejects. A proxy that fails ends by itself. */
  readonly started: Promise<ProxyStart>;
  readonly #options: ProxyOptions;
  readonly #ended = Promise.withResolvers<void>();
  #box: BoxChild | undefined;
  #stopped = false;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.started = this.#start();
  }

  /** Resolves once nothing of it is left, whether or not it was stopped. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Ends it, also while it starts. */
  stop(): void {
    this.#stopped = true;
    this.#box?.stop();
  }

  async #start(): Promise<ProxyStart> {
    let directory: AbsPath;
    try {
      directory = AbsPath.parse(await mkdtemp(`${this.#options.parent}/`));
    } catch (error) {
      // The system's: without a directory there is nothing to share, and nothing has been started.
      this.#ended.resolve();
      return { kind: "failed", problem: error instanceof Error ? error.message : "no directory" };
    }
    const problem = this.#stopped ? "stopped" : ((await this.#run(directory)) ?? (await findSocketProblem(directory)));
    if (this.#box === undefined) await this.#clear(directory);
    if (problem === undefined) return { kind: "ready", directory };
    this.stop();
    return { kind: "failed", problem };
  }

  /** Starts the box. Resolves when it listens, to nothing, or to why it never will. */
  #run(directory: AbsPath): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    let said = "";
    const starting = startChild(this.#options.launch(directory), Buffer.alloc(0), {
      onOutput: (chunk) => {
        if (said.length >= READY.length) return;
        said += chunk.toString("latin1");
        if (said === READY) resolve(undefined);
        else if (!READY.startsWith(said)) resolve(`it said ${quoteText(said.slice(0, 100))}`);
      },
      onError: resolve,
      onClose: (status, killedBy) => resolve(`it ended, ${killedBy ?? `exit status ${status}`}: ${this.#box?.stderr ?? ""}`),
    });
    if (starting.kind === "unstarted") {
      return starting.problem;
    }
    const { box } = starting;
    this.#box = box;
    const readyMs = this.#options.readyMs ?? READY_MS;
    box.after(readyMs, () => resolve(`not ready after ${readyMs} ms: ${box.stderr}`));
    const clear = (): Promise<void> => this.#clear(directory);
    box.ended.then(clear, clear);
    return promise;
  }

  async #clear(directory: AbsPath): Promise<void> {
    try {
      await rm(directory, { recursive: true, force: true });
    } catch {
      // It's the owner's alone and holds a dead socket at most; the next start removes it.
    }
    this.#ended.resolve();
  }
}

/** A proxy that says it listens, where there is nothing to connect to, would fail each call later and less plainly. */
async function findSocketProblem(directory: AbsPath): Promise<string | undefined> {
  try {
    return (await lstat(`${directory}/${SOCKET}`)).isSocket() ? undefined : "its socket is something else";
  } catch {
    // Whatever it is that can't be looked at, nothing could connect to it.
    return "its socket is not there";
  }
}
