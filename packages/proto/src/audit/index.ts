/**
 * Entry `@boxmaker/proto/audit-lines`: the judgement of a log's lines, and the tree over them, without the schemas of what is in them, so
 * that a thread that does nothing else starts quickly and is small.
 */
export { CompactTree, type Subtree } from "../transparency/compact-tree.ts";
export { hashLeaf } from "../transparency/merkle-hash.ts";
export { LineChain, type ReadLine } from "./audit-chain.ts";
export { AuditTally, type TallyPart } from "./audit-tally.ts";
export type { ChainHead } from "./chain-break.ts";
export { LineSplitter, type LogLine } from "./line-splitter.ts";
export { patternReader } from "./pattern-reader.ts";
export { MAX_RECORD_BYTES } from "./record-size.ts";
export type { TalliedRecord } from "./tallied-record.ts";
