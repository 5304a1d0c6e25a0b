/** The ways in which the damaged logs of the tests are damaged. */
import { decision, LogBuilder, type LogFiles, linesOf, result, soundLog, started, stopped, withLines } from "./log-builder.ts";

/** What the chain says of a log: where and why it breaks, or how many records and torn lines it has. */
export type Verdict =
  | {
      readonly kind: "broken";
      readonly file: string;
      readonly line: number;
      readonly lastGood: number;
      readonly found: RegExp;
      readonly records: number;
    }
  | { readonly kind: "whole"; readonly records: number; readonly head: number }
  | { readonly kind: "torn"; readonly records: number; readonly head: number; readonly lines: number };

export interface DamagedLog {
  readonly name: string;
  readonly files: LogFiles;
  readonly verdict: Verdict;
}

export const DAY = "2026-01-05.jsonl";
export const NEXT_DAY = "2026-01-06.jsonl";
export const LAST_DAY = "2026-01-08.jsonl";
export const SOUND = soundLog().build();
export const FIRST = linesOf(SOUND, DAY);
/** A line of one byte more than a record may have, with its newline. */
export const TOO_LONG = `${"x".repeat(4 * 1024 * 1024 + 1)}\n`;
export const HALF = '{"seq":5,"time":"2026-01-0';

/** @param records how many are good before the break; fewer than `lastGood` only behind an accepted one */
export function broken(file: string, line: number, lastGood: number, found: RegExp, records = lastGood): Verdict {
  return { kind: "broken", file, line, lastGood, found, records };
}

/** @param head the last seq, which is more than the number of records only behind an accepted break */
export function whole(records: number, head = records): Verdict {
  return { kind: "whole", records, head };
}

export function tornTail(records: number, lines = 1, head = records): Verdict {
  return { kind: "torn", records, lines, head };
}

/** The sound log with the first day's lines changed. */
export function firstDay(change: (lines: readonly string[]) => readonly string[]): LogFiles {
  return withLines(SOUND, DAY, change(FIRST));
}

export function edited(line: number, from: string | RegExp, to: string): LogFiles {
  return firstDay((lines) => lines.map((text, index) => (index === line - 1 ? text.replace(from, to) : text)));
}

/** Four records, then `tail` as it is. */
export function withTail(tail: string | Uint8Array): LogFiles {
  return four().raw(tail).build();
}

export function four(): LogBuilder {
  return new LogBuilder().add(started(0), decision(1, "allowed"), result(2, 1), decision(2, "denied"));
}

/** Four records, a torn line, and what `then` puts after it. */
export function torn(tail: string, then: (log: LogBuilder, offset: number) => LogBuilder): LogFiles {
  const log = four();
  const { offset } = log;
  return then(log.raw(`${tail}\n`), offset).build();
}

/** Four records, of which the fourth is written as `spell` has it, and a fifth that chains on those very bytes. */
export function rechained(spell: (line: string) => string): LogFiles {
  const log = new LogBuilder().add(started(0), decision(1, "allowed"), result(2, 1));
  return log
    .chain(spell(log.line(decision(2, "denied"))))
    .add(stopped())
    .build();
}

export function recovered(): LogBuilder {
  const log = four();
  const { offset } = log;
  return log.raw(`${HALF}\n`).add(log.recovery(offset, HALF));
}
