/** Has boxes wait for the attacks' calls, and tells whether they have served them: a pool must make nothing weaker. */
import type { Clock } from "@boxmaker/edge/log";
import type { BoxPool } from "../runner/pool/box-pool.ts";
import type { RunSpec } from "../runner/run-spec.ts";
import type { Runtime } from "../runner/runtime.ts";
import { waitUntil } from "./host-processes.ts";

/** From the end of a call until the next box is seen to be complete. */
const COMPLETE_MS = 10_000;

/** For one call at a time. */
export class WaitingBoxes {
  readonly #runtime: Runtime;
  readonly #pool: BoxPool;
  readonly #clock: Clock;
  /** Whose boxes wait. */
  #session: string | undefined;

  constructor(runtime: Runtime, pool: BoxPool, clock: Clock) {
    this.#runtime = runtime;
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Calls that have had a box that waited. */
  get served(): number {
    return this.#pool.served;
  }

  /** Sees to a box for a call like this one, by making it. Returns how many calls have been served so far. */
  async prepare(spec: RunSpec, limitMs: number): Promise<number> {
    if (this.#session !== spec.session) {
      // Those of others must not be taken for it.
      this.#runtime.grantsChanged();
      this.#session = spec.session;
      await this.#runtime.run(spec, { signal: AbortSignal.timeout(limitMs) });
    }
    await waitUntil(this.#clock, COMPLETE_MS, () => this.#pool.complete > 0);
    return this.served;
  }
}
