/** The grants of the moment, kept and recorded before anything is decided by them. */

import type { GrantSet, ValidGrantSet } from "@boxmaker/policy";
import type { GrantStore } from "@boxmaker/policy/grants";
import { type Hash32, sha256, ZERO_HASH } from "@boxmaker/proto";

/** A grant file by name and hash, as `grants_changed` lists it. */
export interface GrantFileHash {
  readonly file: string;
  readonly sha256: Hash32;
}

export interface GrantsInForceOptions {
  readonly store: Pick<GrantStore, "current">;
  /** Keeps a grant file's text by its hash; resolves when it is durable. Never called twice at the same time. */
  readonly keep: (sha256: Hash32, text: string) => Promise<void>;
  /** Enqueues the record of a set that differs from the last one. */
  readonly record: (files: readonly GrantFileHash[]) => void;
}

export class GrantsInForce {
  readonly #options: GrantsInForceOptions;
  /** Hash over the files last recorded. */
  #recorded: Hash32 = ZERO_HASH;
  /** The set of those files that was handed out last. */
  #inForce: ValidGrantSet | undefined;
  /** The end of the line of sets that are being kept: one at a time, so that the log has them in order and each once. */
  #keeping: Promise<void> = Promise.resolve();

  constructor(options: GrantsInForceOptions) {
    this.#options = options;
  }

  /** The grants as they are on disk. */
  look(): Promise<GrantSet> {
    return this.#options.store.current();
  }

  /**
   * The grants as they are on disk, after a set that differs from the last one has been kept and recorded. An invalid set is returned
   * as it is: it permits nothing, and the last valid one isn't in force any more.
   *
   * @throws {Error} when the texts can't be kept or the record can't be enqueued: a decision by them couldn't be taken again
   */
  async current(): Promise<GrantSet> {
    for (;;) {
      const grants = await this.look();
      if (grants.kind === "invalid" || grants === this.#inForce) return grants;
      const files = grants.files.map(({ file, sha256: hash }) => ({ file, sha256: hash }));
      const identity = sha256(JSON.stringify(files));
      if (identity === this.#recorded) {
        this.#inForce = grants;
        return grants;
      }
      const kept = this.#keeping.then(() => this.#keep(grants, files, identity));
      // The next in line isn't to blame for what failed for this one.
      this.#keeping = kept.catch(() => undefined);
      await kept;
      // Somebody may have recorded a newer set meanwhile.
    }
  }

  /** Whether a set may still be decided by: nobody has recorded another one since. An invalid one permits nothing. */
  isInForce(grants: GrantSet): boolean {
    return grants.kind === "invalid" || grants === this.#inForce;
  }

  async #keep(grants: ValidGrantSet, files: readonly GrantFileHash[], identity: Hash32): Promise<void> {
    if (identity === this.#recorded) return;
    for (const { sha256: hash, text } of grants.files) await this.#options.keep(hash, text);
    this.#options.record(files);
    this.#recorded = identity;
    this.#inForce = grants;
  }
}
