/**
 * Entry `@boxmaker/proto/transparency`: Merkle trees over the audit log's lines and the signed heads of them. Apart from the main entry,
 * because most programs never need it.
 */
export { type Checkpoint, type CheckpointReading, readCheckpoint, treeOrigin, writeCheckpoint } from "./checkpoint.ts";
export { CompactTree, type Subtree } from "./compact-tree.ts";
export { Frontier } from "./frontier.ts";
export { beginsTree, type LogTree, LogTrees, leafOf, type StoredTree, type TreeRecord } from "./log-trees.ts";
export { EMPTY_ROOT, hashChildren, hashLeaf } from "./merkle-hash.ts";
export {
  type NoteKeyKind,
  type NoteSigner,
  type NoteVerdict,
  openNote,
  rawPublicKey,
  readVerifierKey,
  signNote,
  type VerifierKey,
  type VerifierKeyReading,
  verifierKey,
  writeVerifierKey,
} from "./note-keys.ts";
export { consistencySpans, inclusionSpans, type LeafSpan, SpanHasher } from "./proof-spans.ts";
export {
  isKeyName,
  MAX_NOTE_BYTES,
  type NoteReading,
  type NoteSignature,
  readSignatureLine,
  readSignedNote,
  type SignedNote,
  writeSignedNote,
} from "./signed-note.ts";
export {
  type CheckpointNote,
  dayCheckpointFile,
  KEYS_FILE,
  type KeptCheckpoint,
  LastLine,
  NEWEST_FILE,
  openStored,
  readCheckpointNote,
  readDayCheckpointFile,
  readStoredCheckpoint,
  StoredCheckpoint,
} from "./stored-checkpoint.ts";
export { readTlogProof, type TlogProof, type TlogProofReading, writeTlogProof } from "./tlog-proof.ts";
export { TreeComparison } from "./tree-comparison.ts";
export { type ConsistencyClaim, type InclusionClaim, isConsistent, isIncluded } from "./verify-proofs.ts";
