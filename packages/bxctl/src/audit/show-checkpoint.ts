/** `bxctl audit checkpoint` and `bxctl audit key`: what to keep somewhere else. */
import { listDayCheckpoints, readCheckpointFile, readListedKeys, readNewestCheckpoint } from "@boxmaker/edge/audit-files";
import { escapeLayoutText, escapeText, quoteText } from "@boxmaker/proto";
import { type CheckpointNote, readCheckpointNote, writeSignedNote } from "@boxmaker/proto/transparency";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { AuditCommand } from "./audit-command.ts";

/** Prints the newest checkpoint, with the signatures of witnesses that were put under it. */
export async function showCheckpoint({ directory, out, err, json }: AuditCommand): Promise<ExitStatus> {
  const reading = await read(directory, readNewestCheckpoint);
  if (reading.kind !== "newest") {
    const problem = reading.kind === "none" ? absent(directory) : reading.problem;
    err.line(`bxctl: ${problem}`);
    return 1;
  }
  const { note, checkpoint } = await withWitnesses(directory, reading.newest);
  const text = writeSignedNote(note);
  const { origin, size, root } = checkpoint;
  if (json) out.raw(jsonLine({ origin, size, root, note: text }));
  else if (isPrintable(text)) out.raw(text);
  else {
    err.line(`bxctl: ${unprintable(directory)}`);
    return 1;
  }
  return 0;
}

/** Prints the public key that newer checkpoints are checked with; with --json all of them. */
export async function showKey({ directory, out, err, json }: AuditCommand): Promise<ExitStatus> {
  const keys = await read(directory, async (path) => ({ kind: "keys" as const, keys: await readListedKeys(path) }));
  const newest = keys.kind === "keys" ? keys.keys.at(-1) : undefined;
  if (keys.kind !== "keys" || newest === undefined) {
    err.line(`bxctl: ${keys.kind === "keys" ? absent(directory) : keys.problem}`);
    return 1;
  }
  out.raw(json ? jsonLine({ key: newest, keys: keys.keys }) : `${escapeText(newest)}\n`);
  return 0;
}

/** Whether a file for others may be printed as it is: a note may hold lines of whoever can write to the folder, to steer a terminal with. */
export function isPrintable(text: string): boolean {
  return escapeLayoutText(text) === text;
}

/** What is said instead of such a file. */
export function unprintable(directory: string): string {
  const what = `the checkpoint in ${quoteText(directory)} holds characters that would steer a terminal`;
  return `${what}, take it with --json; see docs/runbook.md#checkpoint-damaged`;
}

function absent(directory: string): string {
  return `no checkpoint in ${quoteText(directory)}; see docs/runbook.md#checkpoints-absent`;
}

/** Reads something of the folder; what the file system says is one more way for it to be damaged. */
async function read<T>(
  directory: string,
  reader: (directory: string) => Promise<T>,
): Promise<T | { readonly kind: "damaged"; readonly problem: string }> {
  try {
    const found = await reader(directory);
    const isDamaged = typeof found === "object" && found !== null && "kind" in found && found.kind === "damaged";
    if (!isDamaged || !("problem" in found)) return found;
    return { kind: "damaged", problem: `${String(found.problem)}; see docs/runbook.md#checkpoint-damaged` };
  } catch (error) {
    const problem = error instanceof Error ? escapeText(error.message) : "an unknown error";
    return {
      kind: "damaged",
      problem: `the checkpoints in ${quoteText(directory)} can't be read: ${problem}; see docs/runbook.md#checkpoint-damaged`,
    };
  }
}

/** The same checkpoint as its day has it, where others may have signed it too. */
async function withWitnesses(directory: string, newest: CheckpointNote): Promise<CheckpointNote> {
  for (const { name } of (await listDayCheckpoints(directory)).toReversed()) {
    const bytes = await readCheckpointFile(directory, name);
    const reading = bytes === undefined ? undefined : readCheckpointNote(bytes);
    if (reading?.kind === "ok" && reading.value.note.text === newest.note.text) return reading.value;
  }
  return newest;
}
