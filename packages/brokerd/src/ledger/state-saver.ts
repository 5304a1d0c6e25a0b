/** Saves the state now and then, so that a start needn't read the whole log. Nobody waits for it, and nothing is decided by it. */
import type { AbsPath } from "@boxmaker/proto";
import type { LogMark } from "../audit/audit-log.ts";
import { phraseFailure } from "../audit/phrase-failure.ts";
import type { SessionStates } from "./session-states.ts";
import { writeSnapshot } from "./snapshot-file.ts";

export interface StateSaverOptions {
  readonly path: AbsPath;
  readonly states: Pick<SessionStates, "contents">;
  /** The place of the last record that the states hold. */
  readonly mark: () => LogMark;
  /** The record that the file on disk was saved behind; 0 where there is none. */
  readonly saved: number;
  /** Records between two savings. */
  readonly every: number;
  /** Takes one printable line. Must not throw. */
  readonly warn: (line: string) => void;
}

export class StateSaver {
  readonly #options: StateSaverOptions;
  #saved: number;
  #saving: Promise<void> | undefined;

  constructor(options: StateSaverOptions) {
    this.#options = options;
    this.#saved = options.saved;
  }

  /** To be called right behind each record that the states have taken in, with what resolves when it is on disk. */
  onAppended(durable: Promise<void>): void {
    const { mark, every } = this.#options;
    if (this.#saving === undefined && mark().seq - this.#saved >= every) this.#saving = this.#save(durable);
  }

  /** Saves the state as it is, unless the file on disk holds it already. The last record must be durable. Never rejects. */
  async save(): Promise<void> {
    await this.#saving;
    const { seq } = this.#options.mark();
    if (seq > this.#saved) await this.#save(Promise.resolve());
  }

  async #save(durable: Promise<void>): Promise<void> {
    const { path, states, mark, warn } = this.#options;
    // Taken at once: what comes behind it is another state.
    const [at, contents] = [mark(), states.contents()];
    try {
      await durable;
    } catch {
      // The log has stopped, and the ledger says so: what isn't on disk must not be saved.
      this.#saving = undefined;
      return;
    }
    try {
      await writeSnapshot(path, at, contents);
    } catch (error) {
      // Nothing is lost: the next start reads more of the log.
      warn(`the state could not be saved: ${phraseFailure(error)}; see docs/runbook.md#saved-state-unusable`);
    }
    // Where it failed, too: the next try comes after as many records again.
    this.#saved = at.seq;
    this.#saving = undefined;
  }
}
