/** `bxctl audit prove SEQ`: shows to somebody who hasn't got the log that one record is in it, and nothing else of it. */
import { listDayCheckpoints, readCheckpointFile, readNewestCheckpoint } from "@boxmaker/edge/audit-files";
import { quoteText } from "@boxmaker/proto";
import {
  type Checkpoint,
  type CheckpointNote,
  inclusionSpans,
  isIncluded,
  leafOf,
  readCheckpointNote,
  SpanHasher,
  TreeComparison,
  writeTlogProof,
} from "@boxmaker/proto/transparency";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { AuditCommand } from "./audit-command.ts";
import { RecordedLog, UnreadableLogError } from "./read-records.ts";
import { isPrintable, unprintable } from "./show-checkpoint.ts";

const SEQ = /^[1-9][0-9]{0,15}$/u;

/** Prints a C2SP tlog-proof of the record; 1 where no checkpoint covers it or the log isn't what was signed. */
export async function proveRecord(command: AuditCommand, word: string): Promise<ExitStatus> {
  const { directory, out, err, json } = command;
  if (!SEQ.test(word)) {
    err.line(`bxctl: ${quoteText(word)} is no record: expected its seq, a number from 1`);
    return 2;
  }
  const seq = Number(word);
  try {
    const covering = await findCovering(directory, seq);
    if (covering === undefined) {
      err.line(`bxctl: no checkpoint covers record ${seq}; see docs/runbook.md#checkpoints-absent`);
      return 1;
    }
    const proof = await prove(directory, seq, covering);
    if (proof.kind === "refused") {
      err.line(`bxctl: ${proof.problem}`);
      return 1;
    }
    const { origin, size } = covering.signed.checkpoint;
    if (json) out.raw(jsonLine({ seq, index: seq - covering.first, origin, size, proof: proof.text }));
    else if (isPrintable(proof.text)) out.raw(proof.text);
    else {
      err.line(`bxctl: ${unprintable(directory)}`);
      return 1;
    }
    return 0;
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    err.line(`bxctl: ${error.message}`);
    return 1;
  }
}

interface Covering {
  readonly first: number;
  readonly signed: CheckpointNote;
}

/** The newest checkpoint of the tree that the record is in, if it covers the record. */
async function findCovering(directory: string, seq: number): Promise<Covering | undefined> {
  const covers = ({ first, signed }: Covering): boolean => first <= seq && seq < first + signed.checkpoint.size;
  for (const { name, first } of (await listDayCheckpoints(directory)).toReversed()) {
    const bytes = first <= seq ? await readCheckpointFile(directory, name) : undefined;
    const reading = bytes === undefined ? undefined : readCheckpointNote(bytes);
    if (reading?.kind === "ok" && covers({ first, signed: reading.value })) return { first, signed: reading.value };
  }
  const newest = await readNewestCheckpoint(directory);
  const kept = newest.kind === "newest" ? { first: newest.newest.first, signed: newest.newest } : undefined;
  return kept !== undefined && covers(kept) ? kept : undefined;
}

type Proof = { readonly kind: "proof"; readonly text: string } | { readonly kind: "refused"; readonly problem: string };

async function prove(directory: string, seq: number, { first, signed }: Covering): Promise<Proof> {
  const { checkpoint, note } = signed;
  const { size, root } = checkpoint;
  const index = seq - first;
  const hasher = new SpanHasher(inclusionSpans(index, size));
  const comparison = new TreeComparison(checkpoint);
  const log = await RecordedLog.open(directory);
  let proved: ReturnType<typeof leafOf> | undefined;
  for (const record of log.records()) {
    const leaf = leafOf(record);
    comparison.add(record, leaf);
    const { tree } = comparison.trees;
    if (tree?.origin !== checkpoint.origin || tree.size > size) continue;
    // What the file's name says of the tree isn't signed.
    if (tree.first !== first) return { kind: "refused", problem: differs(directory, checkpoint, `them from seq ${tree.first} on`) };
    hasher.push(leaf);
    if (record.seq === seq) proved = leaf;
  }
  const { difference } = comparison;
  if (difference !== undefined || proved === undefined)
    return { kind: "refused", problem: differs(directory, checkpoint, difference) };
  const hashes = hasher.hashes();
  if (!isIncluded({ index, size, leaf: proved, root }, hashes)) throw new Error("expected a proof that holds");
  return { kind: "proof", text: writeTlogProof({ extra: null, index, hashes, note }) };
}

function differs(directory: string, { size }: Checkpoint, difference: string | undefined): string {
  const found = difference ?? "other records";
  return `the audit log in ${quoteText(directory)} isn't the one that was signed: expected ${size} records, found ${found}; see docs/runbook.md#audit-cut`;
}
