/** Reads the lines of a log together with their leaves in the tree over it. */
import { type Hash32, type ReadLine, readTalliedLine, type TalliedRecord } from "@boxmaker/proto";
import { hashLeaf } from "@boxmaker/proto/transparency";

/** `leaf` is undefined where the tree has no place for the record. */
export interface LeafRecord extends TalliedRecord {
  readonly leaf: Hash32 | undefined;
}

/** @param treeSize the tree is over the records up to this seq */
export function leafReader(treeSize: number): ReadLine<LeafRecord> {
  return (line) => {
    const reading = readTalliedLine(line);
    if (reading.kind !== "ok") return reading;
    const { value } = reading;
    return { kind: "ok", value: { ...value, leaf: value.seq <= treeSize ? hashLeaf(line) : undefined } };
  };
}
