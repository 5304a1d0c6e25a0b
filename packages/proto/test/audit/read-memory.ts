/** Reads a log that lies in memory, in chunks of a given size. */
import {
  AuditChain,
  type AuditRecord,
  AuditTally,
  type ChainEnd,
  DayFileName,
  type LinePlace,
  readLog,
  type TallyLists,
} from "@boxmaker/proto";
import type { LogFiles } from "./log-builder.ts";

export interface MemoryReading {
  readonly end: ChainEnd;
  readonly records: readonly AuditRecord[];
  /** Where each of the records lies. */
  readonly places: readonly LinePlace[];
  /** What reads as a record behind a break. */
  readonly doubtful: readonly AuditRecord[];
  readonly lists: TallyLists;
}

/** The bytes in chunks of this size. */
export async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  const buffer = Buffer.alloc(size);
  for (let start = 0; start < bytes.length; start += size) {
    // One buffer for all chunks, as the readers of files have it.
    const count = bytes.copy(buffer, 0, start, start + size);
    yield buffer.subarray(0, count);
  }
}

export async function readMemory(files: LogFiles, chunkSize = 65_536): Promise<MemoryReading> {
  const records: AuditRecord[] = [];
  const places: LinePlace[] = [];
  const tally = new AuditTally();
  const doubtful: AuditRecord[] = [];
  const onRecord = (record: AuditRecord, place: LinePlace): void => {
    records.push(record);
    places.push(place);
    tally.add(record, place);
  };
  const chain = new AuditChain(onRecord, { onDoubtful: (record) => doubtful.push(record) });
  const names = [...files.keys()].sort();
  const sources = names.map((name) => ({
    name: DayFileName.parse(name),
    chunks: chunksOf(files.get(name) ?? Buffer.alloc(0), chunkSize),
  }));
  const end = await readLog(sources, chain);
  return { end, records, places, doubtful, lists: tally.lists() };
}
