/** Reads the lines of a log together with their leaves in the tree over it. */
import type { Hash32 } from "@boxmaker/proto";
import { hashLeaf, type ReadLine, type TalliedRecord } from "@boxmaker/proto/audit-lines";

/** `leaf` is undefined where the tree has no place for the record. */
export interface LeafRecord extends TalliedRecord {
  readonly leaf?: Hash32 | undefined;
}

/** @param treeSize the tree is over the records up to this seq */
export function leafReader(read: ReadLine<TalliedRecord>, treeSize: number): ReadLine<LeafRecord> {
  if (treeSize === 0) return read;
  return (line) => {
    const reading = read(line);
    if (reading.kind !== "ok") return reading;
    const { seq, time, prev, event } = reading.value;
    return { kind: "ok", value: { seq, time, prev, event, leaf: seq <= treeSize ? hashLeaf(line) : undefined } };
  };
}
