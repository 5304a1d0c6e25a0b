/** Drives a chain over the files of a log, however their bytes are read. */
import type { ChainEnd, LineChain } from "./audit-chain.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { DayFileName } from "./log-files.ts";
import type { TalliedRecord } from "./tallied-record.ts";

/** A file of a log. Each chunk is done with before the next is asked for, so that one buffer serves them all. */
export interface LogSource {
  readonly name: DayFileName;
  /** Where in the file the chunks begin, in bytes; the start of a line. */
  readonly offset?: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Feeds the files, oldest first, to `chain` and returns its judgement. A broken log is read to its end too: what accepts a break lies
 * behind it. Errors of reading pass through.
 */
export async function readLog<R extends TalliedRecord>(sources: Iterable<LogSource>, chain: LineChain<R>): Promise<ChainEnd> {
  for (const { name, offset, chunks } of sources) {
    const splitter = new LineSplitter((line) => chain.feed(line));
    chain.beginFile(name, offset);
    for await (const chunk of chunks) splitter.push(chunk);
    splitter.end();
  }
  return chain.end();
}
