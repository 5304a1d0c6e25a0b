/** What `bxctl audit verify` prints. */
import { type ChainHead, escapeText, type Listed, quoteText, type TallyLists, type TornLine, unreachable } from "@boxmaker/proto";
import { jsonLine } from "../terminal/json-line.ts";
import { phraseKeys } from "./checkpoint-claim.ts";
import type { DayGap } from "./log-age.ts";

/** A verified log. `torn` are the lines at its end that are no records yet. */
export interface SoundLog {
  readonly head: ChainHead;
  readonly lists: TallyLists;
  readonly torn: readonly TornLine[];
  readonly signed: SignedPart;
  /** Between days that have a checkpoint. */
  readonly gaps: readonly DayGap[];
}

/**
 * What is known of the log beyond its chain: nothing; that the checkpoint beside it covers `size` records; or that a given checkpoint
 * does, signed by these keys, where any were given.
 */
export type SignedPart =
  | { readonly kind: "chain_only" }
  | { readonly kind: "beside"; readonly size: number }
  | { readonly kind: "given"; readonly origin: string; readonly size: number; readonly keys: readonly string[] };

function listLines<T>(title: string, { total, first }: Listed<T>, phrase: (item: T) => string): string[] {
  if (total === 0) return [];
  const lines = [`${title}: ${total}`, ...first.map((item) => `  ${escapeText(phrase(item))}`)];
  if (total > first.length) lines.push(`  and ${total - first.length} more`);
  return lines;
}

function phraseSeq(seq: number): string {
  return `seq ${seq}`;
}

/** More aren't listed one by one. */
const MAX_GAPS = 20;

function listGaps(gaps: readonly DayGap[]): Listed<DayGap> {
  return { total: gaps.length, first: gaps.slice(0, MAX_GAPS) };
}

function phraseGap({ from, to, withRecords }: DayGap): string {
  const days = from === to ? from : `${from} to ${to}`;
  // A crash within that minute leaves records of a day that has none.
  const records = withRecords === 0 ? "" : `; days of these with records, which brokerd signs within a minute: ${withRecords}`;
  return `${days}: brokerd didn't run, or they were taken away${records}`;
}

const LIMIT = "a hash chain alone can't show that its tail was cut off, nor that it was rewritten as a whole";

function headLines({ seq, sha256, time }: ChainHead): string[] {
  return seq === 0 ? [] : [`last record: seq ${seq}, ${time ?? "no time"}, sha256 ${sha256}`];
}

/** What was held to a checkpoint, and what that can't show. */
function signedLines(signed: SignedPart, head: ChainHead): string[] {
  switch (signed.kind) {
    case "chain_only":
      return [head.seq === 0 ? `note: ${LIMIT}` : `note: ${LIMIT}; keep the line above somewhere else, and compare`];
    case "beside":
      return [
        `newest checkpoint: ${signed.size} records, all there`,
        `note: ${LIMIT}; the checkpoint lies beside the log, so keep it somewhere else (bxctl audit checkpoint), and compare (--checkpoint)`,
      ];
    case "given": {
      return [
        escapeText(`checkpoint: ${signed.size} records of ${signed.origin}, all there and unchanged, ${phraseKeys(signed.keys)}`),
        "note: a checkpoint shows nothing of the records that came after it",
      ];
    }
    default:
      return unreachable(signed);
  }
}

/** The same as one line of JSON. */
export function reportSoundJson({ head, lists, torn, signed, gaps }: SoundLog): string {
  const { seq, sha256, time } = head;
  const checkpoint = signed.kind === "chain_only" ? null : signed;
  const found = { records: lists.records, head: { seq, sha256, time }, torn, lists, checkpoint, gaps: listGaps(gaps) };
  return jsonLine({ status: "ok", ...found });
}

/** The report of a sound log: one line that counts, the lists that aren't empty, and what a bare chain can't show. */
export function reportSound({ head, lists, torn, signed, gaps }: SoundLog): string {
  const lines = [
    `audit: ok, ${lists.records} records`,
    ...listLines("torn tail", { total: torn.length, first: torn }, ({ file, line, bytes }) => {
      return `${quoteText(file)} line ${line}, ${bytes} bytes: brokerd is writing it now, or was cut off and recovers it at its next start`;
    }),
    ...listLines("recoveries", lists.recoveries, ({ seq, file, offset, bytes }) => {
      return `seq ${seq}: ${bytes} bytes at offset ${offset} of ${quoteText(file)}`;
    }),
    ...listLines("accepted losses", lists.acceptedLosses, ({ seq, size, found }) => {
      return `seq ${seq}: ${size} records were signed, ${found} were there, or others`;
    }),
    ...listLines("accepted breaks", lists.acceptedBreaks, ({ seq, file, line, lines: given, lastGood }) => {
      return `seq ${seq}: ${given} lines given up from ${quoteText(file)} line ${line} on, behind seq ${lastGood}`;
    }),
    ...listLines("asks without an answer", lists.unansweredAsks, phraseSeq),
    ...listLines("allowed calls without a result", lists.unfinishedCalls, phraseSeq),
    ...listLines("answers and results that belong to nothing", lists.strays, phraseSeq),
    ...listLines("clock steps backwards", lists.clockSteps, ({ seq, from, to }) => `seq ${seq}: from ${from} to ${to}`),
    ...listLines(
      "files that begin with a record of an earlier day",
      lists.misnamedFiles,
      ({ file, time }) => `${quoteText(file)}: ${time}`,
    ),
    ...listLines("days without a checkpoint", listGaps(gaps), phraseGap),
    ...headLines(head),
    ...signedLines(signed, head),
  ];
  return `${lines.join("\n")}\n`;
}
