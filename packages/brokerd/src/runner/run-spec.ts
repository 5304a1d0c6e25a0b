/** What a box is made from: sealed, and built from a decision alone. */

import { type Decision, hiddenPaths, isDecision } from "@boxmaker/policy";
import type { AbsPath, CallId, Hash32, HostPattern, Label, RunPlan, SessionId, ToolCall } from "@boxmaker/proto";
import { lookAt, type MountSource } from "./mount-source.ts";

/** A mount, and what was at its path when the spec was built. */
export interface RunMount {
  readonly path: AbsPath;
  readonly writable: boolean;
  readonly source: MountSource;
}

const SEAL: unique symbol = Symbol("run-spec");

class SealedRunSpec {
  readonly #session: SessionId;
  readonly #call: CallId;
  readonly #after: Label;
  readonly #request: ToolCall;
  readonly #plan: RunPlan;
  readonly #grantSha256: Hash32;
  readonly #followsRedirects: boolean;
  readonly #mounts: readonly RunMount[];
  readonly #masked: readonly AbsPath[];

  constructor(seal: typeof SEAL, decision: Decision) {
    if (seal !== SEAL) throw new TypeError("a RunSpec is built from a decision only");
    this.#session = decision.session;
    this.#call = decision.call;
    this.#after = decision.after;
    this.#request = decision.request;
    this.#plan = decision.run;
    this.#grantSha256 = decision.grantSha256;
    this.#followsRedirects = decision.followsRedirects;
    this.#masked = Object.freeze(hiddenPaths(decision.run));
    this.#mounts = Object.freeze(
      decision.run.mounts.map(({ path, writable }) => Object.freeze({ path, writable, source: Object.freeze(lookAt(path)) })),
    );
    Object.freeze(this);
  }

  static is(value: unknown): value is SealedRunSpec {
    return typeof value === "object" && value !== null && #plan in value;
  }

  get session(): SessionId {
    return this.#session;
  }

  get call(): CallId {
    return this.#call;
  }

  /** The session's state once the call was let run. */
  get after(): Label {
    return this.#after;
  }

  get request(): ToolCall {
    return this.#request;
  }

  /** The runtime and image that the decision was made for. */
  get plan(): RunPlan {
    return this.#plan;
  }

  get mounts(): readonly RunMount[] {
    return this.#mounts;
  }

  /** Paths below mounts that the box must not see. */
  get masked(): readonly AbsPath[] {
    return this.#masked;
  }

  /** Whether the box may write what programs of the host execute. */
  get hostExec(): boolean {
    return this.#plan.host_exec;
  }

  /** Hosts that the box may reach; empty: it has no network. */
  get egress(): readonly HostPattern[] {
    return this.#plan.hosts;
  }

  /** Of the file that the record names: another one is another grant. */
  get grantSha256(): Hash32 {
    return this.#grantSha256;
  }

  /** Whether a fetch may go on to another path of its host in the same call. */
  get followsRedirects(): boolean {
    return this.#followsRedirects;
  }
}

/** Everything that a box holds. Made by {@link buildRunSpec} only. */
export type RunSpec = SealedRunSpec;

/** Whether a value was made by {@link buildRunSpec}. */
export function isRunSpec(value: unknown): value is RunSpec {
  return SealedRunSpec.is(value);
}

/**
 * Builds the spec of a decision, and looks at what is at its mounts now.
 *
 * @throws {TypeError} when the decision is a forgery
 */
export function buildRunSpec(decision: Decision): RunSpec {
  if (!isDecision(decision)) throw new TypeError("a RunSpec is built from a decision only");
  return new SealedRunSpec(SEAL, decision);
}
