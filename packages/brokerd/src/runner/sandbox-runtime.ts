/** What the runtimes with boxes have in common: check the spec, lay out the box, start it, see it to its end. */
import { type AbsPath, BoxRun, encodeMessage, type RuntimeName, type ToolName } from "@boxmaker/proto";
import { type Launch, startChild } from "./box-child.ts";
import type { BoxContents, ProxyContents } from "./box-contents.ts";
import { type Begin, type Box, runInBox } from "./box-process.ts";
import { carriesAway, overlap } from "./box-reach.ts";
import { EgressProxies, type Lease, MAX_AGE_MS } from "./egress/egress-proxies.ts";
import { type Layer, type Layering, layOut } from "./layers.ts";
import type { BoxPool } from "./pool/box-pool.ts";
import type { WaitingBox } from "./pool/waiting-box.ts";
import { isRunSpec, type RunSpec } from "./run-spec.ts";
import { type RunnerConfig, timeLimitMs } from "./runner-config.ts";
import type { RunOutcome, Runtime } from "./runtime.ts";
import { type ToldMounts, toldMounts } from "./told-mounts.ts";

/** The part that differs: how a box of this kind is started. */
export interface Launcher extends AsyncDisposable {
  readonly name: RuntimeName;
  readonly image: string | null;
  /** Whether what is mounted has the same device and inode in a box as on the host. */
  readonly keepsIdentities: boolean;
  /** Whether this kind has such a tool. */
  canRun(tool: ToolName): boolean;
  /** Why this kind can't run the call at all, if so. */
  refuse(spec: RunSpec): RunOutcome | undefined;
  launch(contents: BoxContents, limitMs: number): Launch;
}

/** One whose boxes can have a way to the network. */
export interface EgressLauncher extends Launcher {
  /** How a proxy's box of this kind is started. */
  launchProxy(contents: ProxyContents, limitMs: number): Launch;
}

type OpenLease = Extract<Lease, { readonly kind: "ready" }>;

interface LiveBox {
  readonly spec: RunSpec;
  readonly ended: Promise<void>;
}

/** A {@link Runtime} with one box per call. */
export class SandboxRuntime implements Runtime {
  readonly #launcher: Launcher;
  readonly #config: RunnerConfig;
  readonly #stopping = new AbortController();
  readonly #live = new Set<LiveBox>();
  #grantChanges = 0;
  readonly #proxies: EgressProxies | null;
  /** Null: each box is started for its call. */
  readonly pool: BoxPool | null;

  /** Without `proxies`, what would need one is refused. */
  constructor(launcher: Launcher, config: RunnerConfig, proxies: EgressProxies | null, pool: BoxPool | null = null) {
    this.#launcher = launcher;
    this.#config = config;
    this.#proxies = proxies;
    this.pool = pool;
  }

  get name(): RuntimeName {
    return this.#launcher.name;
  }

  get image(): string | null {
    return this.#launcher.image;
  }

  canRun(tool: ToolName): boolean {
    return this.#launcher.canRun(tool);
  }

  async run(spec: RunSpec, { signal }: { readonly signal: AbortSignal }): Promise<RunOutcome> {
    if (!isRunSpec(spec)) throw new TypeError("a box is started from a RunSpec only");
    const { plan } = spec;
    if (plan.runtime !== this.name || plan.image !== this.image) {
      return {
        kind: "error",
        code: "start_failed",
        detail: `decided for ${plan.runtime} ${plan.image ?? ""}, but this is ${this.name}`,
      };
    }
    const refusal = this.#launcher.refuse(spec);
    if (refusal !== undefined) return refusal;
    await this.#othersGone(spec);
    const ending = AbortSignal.any([signal, this.#stopping.signal]);
    if (spec.egress.length === 0) return this.#start(spec, null, ending);
    const lease = await this.#lease(spec, ending);
    if (lease.kind === "error") return lease;
    return this.#start(spec, lease, ending);
  }

  #lease(spec: RunSpec, signal: AbortSignal): Promise<Lease> | Lease {
    return this.#proxies?.acquire(spec, signal) ?? { kind: "error", code: "unsupported", detail: `${this.name} has no proxies` };
  }

  async #start(spec: RunSpec, lease: OpenLease | null, signal: AbortSignal): Promise<RunOutcome> {
    const { request } = spec;
    const limitMs = timeLimitMs(this.#config, request.tool);
    const { output_cap: outputCap } = this.#config;
    const waiting = this.pool?.claim(spec);
    await waiting?.readyOr(signal);
    const laidOut = await layOutSafely(spec);
    if (laidOut.kind === "error") {
      waiting?.dismiss();
      lease?.release();
      return laidOut;
    }
    const contents = { layers: laidOut.layers, egress: lease?.directory ?? null };
    const fetch = lease === null ? null : { follow_redirects: spec.followsRedirects, limit_ms: fetchLimitMs(limitMs) };
    const mounts = this.#launcher.keepsIdentities ? laidOut.mounts : null;
    const body = { request, roots: spec.mounts.map(({ path }) => path), mounts, output_cap: outputCap, fetch };
    const input = encodeMessage(BoxRun, { id: 1, final: true, message: { kind: "box_run", body } });
    // From the last look at what is mounted to here nothing is awaited.
    const begin = this.#beginIn(waiting, contents) ?? this.#beginCold(contents, limitMs);
    const box = runInBox(begin, { input, limitMs, outputCap, signal });
    this.#remember(spec, box, lease, contents);
    this.pool?.makeRoom(this.#live.size);
    return box.answer;
  }

  #beginCold(contents: BoxContents, limitMs: number): Begin {
    return (input, events) => startChild(this.#launcher.launch(contents, limitMs), input, events);
  }

  /** In the box that waits for such a call, if it is what one that starts now would be. Else it's ended. */
  #beginIn(waiting: WaitingBox | undefined, contents: BoxContents): Begin | undefined {
    if (waiting === undefined) return undefined;
    if (!waiting.fits(contents)) {
      waiting.dismiss();
      return undefined;
    }
    this.pool?.onServed(waiting);
    return (input, events) => waiting.serve(input, events);
  }

  #remember(spec: RunSpec, { answer, ended }: Box, lease: OpenLease | null, contents: BoxContents): void {
    const live = { spec, ended };
    this.#live.add(live);
    const grants = this.#grantChanges;
    const forget = async (): Promise<void> => {
      this.#live.delete(live);
      lease?.release();
      // A box is gone later than its answer is there: the grants that it was made for may be, too.
      if ((await answer).kind === "done" && grants === this.#grantChanges)
        this.pool?.startAfter(spec, contents, () => this.#live.size);
    };
    ended.then(forget, forget);
  }

  /** Boxes that run a call, those that have answered but not ended included. */
  get running(): number {
    return this.#live.size;
  }

  /** Ends the proxies and the boxes that wait: what they let through, and what they hold, was for the old grants. */
  grantsChanged(): void {
    this.#grantChanges++;
    this.#proxies?.dropAll();
    this.pool?.dropAll();
  }

  /** Ends the boxes that wait, and starts none for a next call. */
  drain(): void {
    this.pool?.close();
  }

  /** Whether a box that may write there has not ended yet, though it may have answered. */
  mayWrite(path: AbsPath): boolean {
    return [...this.#live].some(({ spec }) => spec.mounts.some((mount) => mount.writable && overlap(mount, { path })));
  }

  /**
   * Waits for boxes that share a path with this one, may write it and have answered but not ended: a command can forge the answer
   * of its own box and run on for a moment. Of the own session only for those that could carry away what this one writes.
   */
  async #othersGone(spec: RunSpec): Promise<void> {
    const clashing = [...this.#live].filter(({ spec: other }) =>
      other.session === spec.session
        ? carriesAway(other, spec)
        : other.mounts.some((theirs) => theirs.writable && spec.mounts.some((ours) => overlap(theirs, ours))),
    );
    await Promise.all(clashing.map(({ ended }) => ended));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.pool?.close();
    await Promise.all([...this.#live].map(({ ended }) => ended));
    await this.pool?.[Symbol.asyncDispose]();
    await this.#proxies?.[Symbol.asyncDispose]();
    await this.#launcher[Symbol.asyncDispose]();
  }
}

/** What a box's time has to suffice for beside the fetch itself: its start and its answer. */
const FETCH_MARGIN_MS = 2_000;
/** Of a short time, this part of it at most. */
const FETCH_MARGIN_PART = 4;

function fetchLimitMs(limitMs: number): number {
  return limitMs - Math.min(FETCH_MARGIN_MS, Math.floor(limitMs / FETCH_MARGIN_PART));
}

/** Proxies whose boxes are of the same kind as the tools'; `parent` is where their directories are made. */
export function openProxies(launcher: EgressLauncher, config: RunnerConfig, parent: AbsPath): EgressProxies {
  // The last call that it serves may start when it is as old as it gets.
  const lifeMs = MAX_AGE_MS + config.http_fetch_ms;
  return new EgressProxies({
    parent,
    launch: (directory, hosts) => launcher.launchProxy({ directory, hosts }, lifeMs),
    idleMs: config.egress_idle_ms,
  });
}

type LaidOut =
  | { readonly kind: "layers"; readonly layers: readonly Layer[]; readonly mounts: ToldMounts }
  | Extract<Layering, { readonly kind: "error" }>;

/** A folder that can't be looked into could hold what has to be hidden: then nothing runs. */
async function layOutSafely(spec: RunSpec): Promise<LaidOut> {
  try {
    const layering = await layOut(spec);
    if (layering.kind === "error") return layering;
    const mounts = toldMounts(spec, layering.layers);
    if (mounts !== undefined) return { ...layering, mounts };
    return { kind: "error", code: "mount_changed", detail: "what has to be covered changed while the box was laid out" };
  } catch (error) {
    // The environment's or a bug: either way no box is started.
    return { kind: "error", code: "mount_unusable", detail: error instanceof Error ? error.message : "unknown error" };
  }
}
