/** What `bxctl audit verify` prints. */
import { type ChainHead, escapeText, type Listed, quoteText, type TallyLists, type TornLine } from "@boxmaker/proto";

/** A verified log. `torn` are the lines at its end that are no records yet. */
export interface SoundLog {
  readonly head: ChainHead;
  readonly lists: TallyLists;
  readonly torn: readonly TornLine[];
}

function listLines<T>(title: string, { total, first }: Listed<T>, phrase: (item: T) => string): string[] {
  if (total === 0) return [];
  const lines = [`${title}: ${total}`, ...first.map((item) => `  ${escapeText(phrase(item))}`)];
  if (total > first.length) lines.push(`  and ${total - first.length} more`);
  return lines;
}

function phraseSeq(seq: number): string {
  return `seq ${seq}`;
}

function headLines({ seq, sha256, time }: ChainHead): string[] {
  const limit = "a hash chain alone can't show that its tail was cut off, nor that it was rewritten as a whole";
  if (seq === 0) return [`note: ${limit}`];
  return [
    `last record: seq ${seq}, ${time ?? "no time"}, sha256 ${sha256}`,
    `note: ${limit}; keep the line above somewhere else, and compare`,
  ];
}

/** The report of a sound log: one line that counts, the lists that aren't empty, and what a bare chain can't show. */
export function reportSound({ head, lists, torn }: SoundLog): string {
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
    ...headLines(head),
  ];
  return `${lines.join("\n")}\n`;
}
