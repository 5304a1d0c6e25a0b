/** `bxctl audit check-proof FILE RECORD`: what `audit prove` has shown, checked by somebody who has that record's line and not the log. */
import { readFile } from "node:fs/promises";
import { AuditRecord, escapeText, parseJsonBytes, quoteText } from "@boxmaker/proto";
import { isIncluded, leafOf, openNote, readCheckpoint, readTlogProof } from "@boxmaker/proto/transparency";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { AuditCommand } from "./audit-command.ts";
import { phraseKeys, readKeys } from "./checkpoint-claim.ts";

/** What is checked: files as they were typed, and the keys of which one has to have signed. */
export interface ProofFlags {
  readonly proof: string;
  readonly record: string;
  readonly key?: readonly string[] | undefined;
}

/** What the proof shows. `index` counts from 0 in the tree of `size` records. */
interface Shown {
  readonly seq: number;
  readonly index: number;
  readonly origin: string;
  readonly size: number;
  readonly keys: readonly string[];
}

type Checked = { readonly kind: "shown"; readonly shown: Shown } | Refused;

/** 1: what is given doesn't hold. 2: it can't be read, or a word is no key. */
interface Refused {
  readonly kind: "refused";
  readonly status: 1 | 2;
  readonly problem: string;
}

const LINE_FEED = 0x0a;
const POINTER = "see docs/runbook.md#proof-refused";

/** Says what the proof shows; 1 where it shows nothing. */
export async function checkProof({ out, err, json }: Omit<AuditCommand, "directory">, flags: ProofFlags): Promise<ExitStatus> {
  const checked = await check(flags);
  if (checked.kind === "refused") {
    if (json && checked.status === 1) out.raw(jsonLine({ status: "refused", problem: checked.problem }));
    else err.line(`bxctl: ${checked.problem}`);
    return checked.status;
  }
  const { shown } = checked;
  if (json) out.raw(jsonLine({ status: "ok", ...shown }));
  else out.line(escapeText(phrase(shown)));
  return 0;
}

function phrase({ seq, index, origin, size, keys }: Shown): string {
  return `proof: record ${seq} is in ${origin}, at index ${index} of the ${size} records of a checkpoint ${phraseKeys(keys)}`;
}

async function check({ proof: proofPath, record: recordPath, key: words = [] }: ProofFlags): Promise<Checked> {
  const keys = readKeys(words);
  if (keys.kind === "usage") return { kind: "refused", status: 2, problem: keys.problem };
  const proofBytes = await read(proofPath);
  const recordBytes = await read(recordPath);
  if ("kind" in proofBytes) return proofBytes;
  if ("kind" in recordBytes) return recordBytes;
  // In any spelling: bxctl escapes what could steer a terminal, and there is one canonical line of a record.
  const record = parseJsonBytes(AuditRecord, recordBytes.at(-1) === LINE_FEED ? recordBytes.subarray(0, -1) : recordBytes);
  if (record.kind !== "ok") return refuse(`${quoteText(recordPath)} is no record of an audit log: ${record.problem}`);
  const reading = readTlogProof(proofBytes);
  if (reading.kind === "invalid") return refuse(`${quoteText(proofPath)} is no proof: ${reading.problem}`);
  const { index, hashes, note } = reading.proof;
  const signed = readCheckpoint(note.text);
  if (signed.kind === "invalid") return refuse(`${quoteText(proofPath)} is no proof: ${signed.problem}`);
  const verdict = keys.keys.length === 0 ? undefined : openNote(note, keys.keys);
  if (verdict?.kind === "refused") return refuse(`the proof isn't signed by the given key: ${verdict.problem}`);
  const { origin, size, root } = signed.checkpoint;
  const { seq } = record.value;
  if (!isIncluded({ index, size, leaf: leafOf(record.value), root }, hashes))
    return refuse(`the proof doesn't show this record, with seq ${seq}, in the ${size} records of its checkpoint`);
  const by = (verdict?.by ?? []).map(({ key }) => `${key.name}+${key.id}`);
  return { kind: "shown", shown: { seq, index, origin, size, keys: by } };
}

function refuse(problem: string): Refused {
  return { kind: "refused", status: 1, problem: `${problem}; ${POINTER}` };
}

async function read(path: string): Promise<Buffer | Refused> {
  try {
    return await readFile(path);
  } catch (error) {
    // A file that isn't there is a wrong word on the command line.
    const problem = error instanceof Error ? escapeText(error.message) : "an unknown error";
    return { kind: "refused", status: 2, problem: `cannot read ${quoteText(path)}: ${problem}` };
  }
}
