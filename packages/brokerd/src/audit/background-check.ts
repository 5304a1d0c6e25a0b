/** Verifies the older files of the log while brokerd runs: a start that begins at a saved state doesn't read them. */
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import { type AbsPath, escapeText, LineChain, listLog, phraseBreak, quoteText, readLog, readTalliedLine } from "@boxmaker/proto";

export interface BackgroundCheckOptions {
  readonly directory: AbsPath;
  /** Takes one printable line, where something is wrong. Must not throw. */
  readonly warn: (line: string) => void;
}

/** Begins at once, and leaves the event loop to others after each piece of a file. Disposing of it ends it where it is. */
export class BackgroundCheck implements AsyncDisposable {
  readonly #options: BackgroundCheckOptions;
  readonly #ending = new AbortController();
  /** Resolves when the log, as it was at the beginning, has been read to its end, or the check was ended. Never rejects. */
  readonly done: Promise<void>;

  constructor(options: BackgroundCheckOptions) {
    this.#options = options;
    this.done = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.done;
  }

  async #run(): Promise<void> {
    const { directory, warn } = this.#options;
    try {
      const problem = await this.#findBreak();
      if (problem !== undefined) warn(`the audit log is broken: ${problem}; see docs/runbook.md#audit-broken`);
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      // What can't be read can't be vouched for, and brokerd goes on with what its start has read.
      const what = error instanceof Error ? error.message : "an unknown error";
      warn(
        `cannot check all of the audit log in ${quoteText(directory)}: ${escapeText(what)}; see docs/runbook.md#audit-directory`,
      );
    }
  }

  /** One line that says where the log breaks. */
  async #findBreak(): Promise<string | undefined> {
    const { directory } = this.#options;
    const listing = listLog(await readAuditEntries(directory));
    if (listing.kind === "refused") throw new Error(listing.problem);
    const sources = listing.files.map((file) => ({ name: file.name, chunks: this.#politely(readAuditFile(directory, file)) }));
    const end = await readLog(sources, new LineChain(readTalliedLine, () => undefined));
    return end.kind === "broken" ? phraseBreak(end.at) : undefined;
  }

  /** @throws {Error} when the check was ended */
  async *#politely(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      this.#ending.signal.throwIfAborted();
      yield chunk;
      await new Promise(setImmediate);
    }
  }
}
