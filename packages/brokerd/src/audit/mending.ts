/** What a log needs before it can be written on: a newline, and records that account for lines which are none. */
import {
  type AbsPath,
  type AcceptedLoss,
  type AuditEvent,
  type AuditSeq,
  type ChainBreak,
  type ChainEnd,
  type ChainHead,
  phraseBreak,
  quoteText,
  recoveryOf,
  type TornLine,
  unreachable,
} from "@boxmaker/proto";
import { DayFile } from "./day-file.ts";

const NEWLINE = Buffer.from("\n");

/** A record that is due, and the line that tells the owner of it. */
export interface DueRecord {
  readonly event: AuditEvent;
  readonly phrase: (seq: AuditSeq) => string;
}

/** How to go on: end the line that has no newline, then append what is due behind `head`; or where the log is broken. */
export type Mending =
  | {
      readonly kind: "mending";
      readonly head: ChainHead;
      readonly unended: TornLine | undefined;
      readonly due: readonly DueRecord[];
    }
  | { readonly kind: "broken"; readonly at: ChainBreak };

/** @param acceptBreak whether the owner has said to go on behind a break */
export function mendingOf(end: ChainEnd, acceptBreak: boolean): Mending {
  switch (end.kind) {
    case "whole":
      return { kind: "mending", head: end.head, unended: undefined, due: [] };
    case "torn": {
      // As the chain reads them: the last line is described first.
      const due = end.lines.toReversed().map((line) => ({ event: recoveryOf(line), phrase: phraseTorn(line) }));
      return { kind: "mending", head: end.head, unended: end.lines.find(({ ended }) => !ended), due };
    }
    case "broken": {
      const { at, acceptance } = end;
      if (!acceptBreak || acceptance === undefined) return { kind: "broken", at };
      const due = [{ event: acceptance.event, phrase: phraseAccepted(at) }];
      return { kind: "mending", head: acceptance.head, unended: undefined, due };
    }
    default:
      return unreachable(end);
  }
}

function phraseTorn({ file, line, bytes }: TornLine): DueRecord["phrase"] {
  const where = `${quoteText(file)} line ${line}`;
  return (seq) =>
    `audit log: ${where} was cut off (${bytes} bytes) and is recorded as recovered in seq ${seq}; see docs/runbook.md#audit-recovered`;
}

function phraseAccepted(at: ChainBreak): DueRecord["phrase"] {
  return (seq) =>
    `audit log: the break is accepted and recorded in seq ${seq}: ${phraseBreak(at)}; see docs/runbook.md#audit-break-accepted`;
}

/** What goes on record where the owner accepts that the log isn't the one that was signed. */
export function lossDue({ problem, loss }: { readonly problem: string; readonly loss: AcceptedLoss }): DueRecord {
  return { event: loss, phrase: (seq) => `accepted and recorded in seq ${seq}: ${problem}` };
}

/**
 * Gives the last line of a file the newline it lacks, durably. It needn't be the newest file.
 *
 * @param newest the newest file, which is open already
 */
export async function endLine(directory: AbsPath, line: TornLine, newest: DayFile | undefined): Promise<void> {
  if (newest?.name === line.file) {
    newest.append(NEWLINE);
    await newest.sync();
    return;
  }
  using older = DayFile.openRead(directory, line.file, line.offset + line.bytes);
  older.append(NEWLINE);
  await older.sync();
}
