/** What a log is to be held to: a checkpoint, from a file or from beside the log, and who has to have signed it. */
import { readFile } from "node:fs/promises";
import { readNewestCheckpoint } from "@boxmaker/edge/audit-files";
import { escapeText, quoteText } from "@boxmaker/proto";
import {
  type Checkpoint,
  type CheckpointNote,
  type NoteSigner,
  openNote,
  readCheckpointNote,
  readVerifierKey,
  type VerifierKey,
} from "@boxmaker/proto/transparency";

/** Flags as they were typed. */
export interface ClaimFlags {
  readonly checkpoint?: string | undefined;
  /** Public keys. */
  readonly key?: readonly string[] | undefined;
}

/** A checkpoint, and which of the given keys signed it; `keys` is how many were given. */
export interface CheckpointClaim {
  readonly checkpoint: Checkpoint;
  readonly by: readonly NoteSigner[];
}

export type ClaimReading =
  | { readonly kind: "none" }
  | { readonly kind: "claim"; readonly claim: CheckpointClaim }
  /** Status 1: what is given doesn't hold. */
  | { readonly kind: "refused"; readonly problem: string }
  /** Status 2. */
  | { readonly kind: "usage"; readonly problem: string };

/** Reads public keys as they were typed. */
export function readKeys(
  words: readonly string[],
): { readonly kind: "keys"; readonly keys: readonly VerifierKey[] } | Extract<ClaimReading, { kind: "usage" }> {
  const keys: VerifierKey[] = [];
  for (const word of words) {
    const reading = readVerifierKey(word.trim());
    if (reading.kind === "invalid") {
      return { kind: "usage", problem: `${quoteText(word)} is no public key: ${reading.problem}; bxctl audit key prints one` };
    }
    keys.push(reading.key);
  }
  return { kind: "keys", keys };
}

/** Which of the given keys have signed, as a phrase: `signed by …`. */
export function phraseKeys(keys: readonly string[]): string {
  return keys.length === 0 ? "whose signature wasn't checked (no --key)" : `signed by ${keys.join(" and ")}`;
}

/** Reads the claim of these flags; with keys only it is the newest checkpoint beside the log in `directory`. */
export async function readClaim(directory: string, { checkpoint: path, key: words = [] }: ClaimFlags): Promise<ClaimReading> {
  if (path === undefined && words.length === 0) return { kind: "none" };
  const given = readKeys(words);
  if (given.kind === "usage") return given;
  const { keys } = given;
  const found = path === undefined ? await readNewest(directory) : await readFrom(path);
  if (!("signed" in found)) return found;
  const { note, checkpoint } = found.signed;
  if (keys.length === 0) return { kind: "claim", claim: { checkpoint, by: [] } };
  const verdict = openNote(note, keys);
  if (verdict.kind === "signed") return { kind: "claim", claim: { checkpoint, by: verdict.by } };
  const what = path === undefined ? "the newest checkpoint" : quoteText(path);
  return {
    kind: "refused",
    problem: `${what} isn't signed by the given key: ${verdict.problem}; see docs/runbook.md#checkpoint-not-signed`,
  };
}

type Found = { readonly signed: CheckpointNote } | Extract<ClaimReading, { kind: "refused" | "usage" }>;

async function readFrom(path: string): Promise<Found> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    // A file that isn't there is a wrong word on the command line.
    const problem = error instanceof Error ? escapeText(error.message) : "an unknown error";
    return { kind: "usage", problem: `cannot read the checkpoint ${quoteText(path)}: ${problem}` };
  }
  const reading = readCheckpointNote(bytes);
  if (reading.kind === "ok") return { signed: reading.value };
  return {
    kind: "refused",
    problem: `${quoteText(path)} is no checkpoint: ${reading.problem}; see docs/runbook.md#checkpoint-not-signed`,
  };
}

async function readNewest(directory: string): Promise<Found> {
  const reading = await readNewestCheckpoint(directory);
  if (reading.kind === "newest") return { signed: reading.newest };
  return {
    kind: "refused",
    problem:
      reading.kind === "damaged"
        ? `${reading.problem}; see docs/runbook.md#checkpoint-damaged`
        : `no checkpoint in ${quoteText(directory)}; see docs/runbook.md#checkpoints-absent`,
  };
}
