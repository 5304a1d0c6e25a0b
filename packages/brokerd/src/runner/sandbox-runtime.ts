/** What the runtimes with boxes have in common: check the spec, lay out the box, start it, see it to its end. */
import { type AbsPath, BoxRun, encodeMessage, type RuntimeName } from "@boxmaker/proto";
import type { Launch } from "./box-child.ts";
import { startBox } from "./box-process.ts";
import { carriesAway, overlap } from "./box-reach.ts";
import { type Layer, type Layering, layOut } from "./layers.ts";
import { isRunSpec, type RunSpec } from "./run-spec.ts";
import { type RunnerConfig, timeLimitMs } from "./runner-config.ts";
import type { RunOutcome, Runtime } from "./runtime.ts";

/** The part that differs: how a box of this kind is started. */
export interface Launcher extends AsyncDisposable {
  readonly name: RuntimeName;
  readonly image: string | null;
  /** Why this kind can't run the call at all, if so. */
  refuse(spec: RunSpec): RunOutcome | undefined;
  launch(layers: readonly Layer[], limitMs: number): Launch;
}

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

  constructor(launcher: Launcher, config: RunnerConfig) {
    this.#launcher = launcher;
    this.#config = config;
  }

  get name(): RuntimeName {
    return this.#launcher.name;
  }

  get image(): string | null {
    return this.#launcher.image;
  }

  async run(spec: RunSpec, { signal }: { readonly signal: AbortSignal }): Promise<RunOutcome> {
    if (!isRunSpec(spec)) throw new TypeError("a box is started from a RunSpec only");
    const { plan, request, mounts } = spec;
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
    const limitMs = timeLimitMs(this.#config, request.tool);
    const message = {
      kind: "box_run",
      body: { request, roots: mounts.map(({ path }) => path), output_cap: this.#config.output_cap, fetch: null },
    } as const;
    const input = encodeMessage(BoxRun, { id: 1, final: true, message });
    const layering = await layOutSafely(spec);
    if (layering.kind === "error") return layering;
    const box = startBox(this.#launcher.launch(layering.layers, limitMs), {
      input,
      limitMs,
      outputCap: this.#config.output_cap,
      signal: AbortSignal.any([signal, this.#stopping.signal]),
    });
    const live = { spec, ended: box.ended };
    this.#live.add(live);
    const forget = (): boolean => this.#live.delete(live);
    box.ended.then(forget, forget);
    return box.answer;
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
    await Promise.all([...this.#live].map(({ ended }) => ended));
    await this.#launcher[Symbol.asyncDispose]();
  }
}

/** A folder that can't be looked into could hold what has to be hidden: then nothing runs. */
async function layOutSafely(spec: RunSpec): Promise<Layering> {
  try {
    return await layOut(spec);
  } catch (error) {
    // The environment's or a bug: either way no box is started.
    return { kind: "error", code: "mount_unusable", detail: error instanceof Error ? error.message : "unknown error" };
  }
}
