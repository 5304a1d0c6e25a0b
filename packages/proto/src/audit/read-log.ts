/** Drives a chain over the files of a log, however their bytes are read. */
import type { AuditChain, ChainEnd } from "./audit-chain.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { DayFileName } from "./log-files.ts";

/** A file of a log. Each chunk is done with before the next is asked for, so that one buffer serves them all. */
export interface LogSource {
  readonly name: DayFileName;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Feeds the files, oldest first, to `chain` and returns its judgement; stops reading at a break. Errors of reading pass through. */
export async function readLog(sources: Iterable<LogSource>, chain: AuditChain): Promise<ChainEnd> {
  for (const { name, chunks } of sources) {
    let isBroken = false;
    const splitter = new LineSplitter((line) => {
      isBroken = chain.feed(line) !== undefined;
    });
    chain.beginFile(name);
    for await (const chunk of chunks) {
      splitter.push(chunk);
      if (isBroken) return chain.end();
    }
    splitter.end();
  }
  return chain.end();
}
