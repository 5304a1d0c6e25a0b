/**
 * Logs that somebody or something has damaged, each with what has to be said of it. The hashes are real: they are computed here, so
 * that a damage is found for its own reason and not for a wrong hash elsewhere.
 */
import {
  approval,
  decision,
  hashOf,
  LogBuilder,
  type LogFiles,
  linesOf,
  result,
  soundLog,
  started,
  stopped,
  withLines,
} from "./log-builder.ts";

/** What the chain says of a log: where and why it breaks, or how many records and torn lines it has. */
export type Verdict =
  | { readonly kind: "broken"; readonly file: string; readonly line: number; readonly lastGood: number; readonly found: RegExp }
  | { readonly kind: "whole"; readonly records: number }
  | { readonly kind: "torn"; readonly records: number; readonly lines: number };

export interface DamagedLog {
  readonly name: string;
  readonly files: LogFiles;
  readonly verdict: Verdict;
}

const DAY = "2026-01-05.jsonl";
const NEXT_DAY = "2026-01-06.jsonl";
const LAST_DAY = "2026-01-08.jsonl";
const SOUND = soundLog().build();
const FIRST = linesOf(SOUND, DAY);
const HALF = '{"seq":5,"time":"2026-01-0';

function broken(file: string, line: number, lastGood: number, found: RegExp): Verdict {
  return { kind: "broken", file, line, lastGood, found };
}

/** The sound log with the first day's lines changed. */
function firstDay(change: (lines: readonly string[]) => readonly string[]): LogFiles {
  return withLines(SOUND, DAY, change(FIRST));
}

function edited(line: number, from: string | RegExp, to: string): LogFiles {
  return firstDay((lines) => lines.map((text, index) => (index === line - 1 ? text.replace(from, to) : text)));
}

/** Four records, then `tail` as it is. */
function withTail(tail: string | Uint8Array): LogFiles {
  return four().raw(tail).build();
}

function four(): LogBuilder {
  return new LogBuilder().add(started(0), decision(1, "allowed"), result(2, 1), decision(2, "denied"));
}

/** Four records, a torn line, and what `then` puts after it. */
function torn(tail: string, then: (log: LogBuilder, offset: number) => LogBuilder): LogFiles {
  const log = four();
  const { offset } = log;
  return then(log.raw(`${tail}\n`), offset).build();
}

/** Four records, of which the fourth is written as `spell` has it, and a fifth that chains on those very bytes. */
function rechained(spell: (line: string) => string): LogFiles {
  const log = new LogBuilder().add(started(0), decision(1, "allowed"), result(2, 1));
  return log
    .chain(spell(log.line(decision(2, "denied"))))
    .add(stopped())
    .build();
}

function recovered(): LogBuilder {
  const log = four();
  const { offset } = log;
  return log.raw(`${HALF}\n`).add(log.recovery(offset, HALF));
}

export const DAMAGED_LOGS: readonly DamagedLog[] = [
  { name: "nothing at all", files: new Map(), verdict: { kind: "whole", records: 0 } },
  { name: "one empty file", files: new Map([[DAY, Buffer.alloc(0)]]), verdict: { kind: "whole", records: 0 } },
  { name: "a sound log of three days", files: SOUND, verdict: { kind: "whole", records: 11 } },
  {
    name: "a day without records in between",
    files: new Map([...SOUND, ["2026-01-07.jsonl", Buffer.alloc(0)]]),
    verdict: { kind: "whole", records: 11 },
  },
  {
    name: "an empty newest file",
    files: new Map([...SOUND, ["2026-01-09.jsonl", Buffer.alloc(0)]]),
    verdict: { kind: "whole", records: 11 },
  },
  { name: "a recovered torn line", files: recovered().add(stopped()).build(), verdict: { kind: "whole", records: 6 } },
  {
    name: "a torn line that reads as a record, recovered",
    files: (() => {
      const log = four();
      const { offset } = log;
      const line = log.line(stopped());
      return log.raw(`${line}\n`).add(log.recovery(offset, line)).build();
    })(),
    verdict: { kind: "whole", records: 5 },
  },
  {
    name: "a torn line that is JSON but no record, recovered",
    files: torn('{"seq":5}', (log, offset) => log.add(log.recovery(offset, '{"seq":5}'))),
    verdict: { kind: "whole", records: 5 },
  },
  {
    name: "a line torn at the end of a day, recovered in the next day's file",
    files: (() => {
      const log = four();
      const event = log.recovery(log.offset, HALF);
      return log.raw(`${HALF}\n`).day("2026-01-06").add(event, stopped()).build();
    })(),
    verdict: { kind: "whole", records: 6 },
  },
  {
    name: "a recovery that was itself torn, both recovered, the later one first",
    files: torn(HALF, (log, offset) => {
      const begun = log.line(log.recovery(offset, HALF)).slice(0, 40);
      const begunAt = log.offset;
      return log.raw(`${begun}\n`).add(log.recovery(begunAt, begun)).add(log.recovery(offset, HALF), stopped());
    }),
    verdict: { kind: "whole", records: 7 },
  },
  {
    name: "a recovery whose own newline was lost, both recovered",
    files: torn(HALF, (log, offset) => {
      const whole = log.line(log.recovery(offset, HALF));
      const wholeAt = log.offset;
      return log.raw(`${whole}\n`).add(log.recovery(wholeAt, whole)).add(log.recovery(offset, HALF));
    }),
    verdict: { kind: "whole", records: 6 },
  },

  { name: "half a last line", files: withTail(HALF), verdict: { kind: "torn", records: 4, lines: 1 } },
  { name: "half a first line", files: new LogBuilder().raw('{"seq":1,').build(), verdict: { kind: "torn", records: 0, lines: 1 } },
  { name: "half a last line with its newline", files: withTail(`${HALF}\n`), verdict: { kind: "torn", records: 4, lines: 1 } },
  {
    name: "a whole last record without its newline",
    files: withTail(four().line(stopped())),
    verdict: { kind: "torn", records: 4, lines: 1 },
  },
  {
    name: "a last line cut inside a character",
    files: withTail(Buffer.from('{"seq":5,"ü').subarray(0, -1)),
    verdict: { kind: "torn", records: 4, lines: 1 },
  },
  { name: "zero bytes at the end", files: withTail(Buffer.alloc(4096)), verdict: { kind: "torn", records: 4, lines: 1 } },
  {
    name: "a zeroed page inside the last line",
    files: withTail(`{"seq":5${"\0".repeat(512)}}\n`),
    verdict: { kind: "torn", records: 4, lines: 1 },
  },
  {
    name: "a last line of nine megabytes",
    files: withTail(Buffer.alloc(9 * 1024 * 1024, "x")),
    verdict: { kind: "torn", records: 4, lines: 1 },
  },
  {
    name: "a torn tail before an empty newest file",
    files: new Map([...withTail(HALF), [NEXT_DAY, Buffer.alloc(0)]]),
    verdict: { kind: "torn", records: 4, lines: 1 },
  },
  {
    name: "half a recovery after the line it was to describe",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)).slice(0, 60))),
    verdict: { kind: "torn", records: 4, lines: 2 },
  },
  {
    name: "half a recovery and zero bytes after the line it was to describe",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)).slice(0, 60)).raw(Buffer.alloc(20))),
    verdict: { kind: "torn", records: 4, lines: 2 },
  },
  {
    name: "a whole recovery without its newline",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)))),
    verdict: { kind: "torn", records: 4, lines: 2 },
  },

  { name: "an edited record", files: edited(3, "todo.md", "todo.mx"), verdict: broken(DAY, 4, 3, /^prev /u) },
  { name: "an edited record, so that it is no JSON", files: edited(2, "{", "["), verdict: broken(DAY, 2, 1, /^not JSON$/u) },
  { name: "an edited first record", files: edited(1, "0.1.0", "0.1.1"), verdict: broken(DAY, 2, 1, /^prev /u) },
  {
    name: "an edited last record of a day",
    files: edited(4, '"bytes":7', '"bytes":8'),
    verdict: broken(NEXT_DAY, 1, 4, /^prev /u),
  },
  { name: "an edited prev", files: edited(3, /"prev":"./u, '"prev":"x'), verdict: broken(DAY, 3, 2, /^prev: expected 64/u) },
  { name: "an edited seq", files: edited(3, '"seq":3', '"seq":4'), verdict: broken(DAY, 3, 2, /^seq 4$/u) },
  { name: "a deleted record", files: firstDay(([a, b, , d]) => [a, b, d].map(String)), verdict: broken(DAY, 3, 2, /^seq 4$/u) },
  { name: "a deleted first record", files: firstDay((lines) => lines.slice(1)), verdict: broken(DAY, 1, 0, /^seq 2$/u) },
  {
    name: "a first record that follows something",
    files: edited(1, "0".repeat(64), "1".repeat(64)),
    verdict: broken(DAY, 1, 0, /^prev 1{64}$/u),
  },
  {
    name: "a deleted day",
    files: new Map([...SOUND].filter(([name]) => name !== NEXT_DAY)),
    verdict: broken(LAST_DAY, 1, 4, /^seq 9$/u),
  },
  {
    name: "a cut tail of a day that isn't the last",
    files: firstDay((lines) => lines.slice(0, 3)),
    verdict: broken(NEXT_DAY, 1, 3, /^seq 5$/u),
  },
  {
    name: "an inserted record",
    files: firstDay(([a, b, ...rest]) => [a, b, a, ...rest].map(String)),
    verdict: broken(DAY, 3, 2, /^seq 1$/u),
  },
  { name: "swapped records", files: firstDay(([a, b, c, d]) => [a, c, b, d].map(String)), verdict: broken(DAY, 2, 1, /^seq 3$/u) },
  {
    name: "a record twice",
    files: firstDay(([a, b, ...rest]) => [a, b, b, ...rest].map(String)),
    verdict: broken(DAY, 3, 2, /^seq 2$/u),
  },
  {
    name: "the files of two days swapped",
    files: new Map([...SOUND, [DAY, SOUND.get(NEXT_DAY) ?? Buffer.alloc(0)], [NEXT_DAY, SOUND.get(DAY) ?? Buffer.alloc(0)]]),
    verdict: broken(DAY, 1, 0, /^seq 5$/u),
  },
  {
    name: "a day's file under an earlier day's name",
    files: new Map([...SOUND].map(([name, bytes]) => [name === NEXT_DAY ? "2026-01-04.jsonl" : name, bytes])),
    verdict: broken("2026-01-04.jsonl", 1, 0, /^seq 5$/u),
  },
  {
    name: "a record of a later day than its file",
    files: new Map([["2026-01-04.jsonl", SOUND.get(DAY) ?? Buffer.alloc(0)]]),
    verdict: broken("2026-01-04.jsonl", 1, 0, /^time 2026-01-05/u),
  },
  {
    name: "two logs one after the other",
    files: firstDay((lines) => [...lines, ...lines]),
    verdict: broken(DAY, 5, 4, /^seq 1$/u),
  },

  {
    name: "an extra key, chained",
    files: rechained((line) => line.replace("{", '{"forged":true,')),
    verdict: broken(DAY, 4, 3, /Unrecognized key/u),
  },
  {
    name: "an extra key deep inside, chained",
    files: rechained((line) => line.replace('"path_labels":[{', '"path_labels":[{"more":1,')),
    verdict: broken(DAY, 4, 3, /Unrecognized key/u),
  },
  {
    name: "a key twice, chained",
    files: rechained((line) => line.replace("{", '{"seq":4,')),
    verdict: broken(DAY, 4, 3, /duplicate key "seq"/u),
  },
  {
    name: "a missing key, chained",
    files: rechained((line) => line.replace(',"run":null', "")),
    verdict: broken(DAY, 4, 3, /^event\.run/u),
  },
  {
    name: "keys in another order, chained",
    files: rechained((line) => line.replace(/"seq":4,("time":"[^"]*")/u, '$1,"seq":4')),
    verdict: broken(DAY, 4, 3, /not the canonical spelling/u),
  },
  {
    name: "white space, chained",
    files: rechained((line) => line.replace(":", ": ")),
    verdict: broken(DAY, 4, 3, /not the canonical spelling/u),
  },
  {
    name: "an escape where none is needed, chained",
    files: rechained((line) => line.replace("read_file", "\\u0072ead_file")),
    verdict: broken(DAY, 4, 3, /not the canonical spelling/u),
  },
  {
    name: "a number with an exponent, chained",
    files: rechained((line) => line.replace('"call":2', '"call":2e0')),
    verdict: broken(DAY, 4, 3, /no integer/u),
  },
  {
    name: "a half surrogate pair, chained",
    files: rechained((line) => line.replace("read_file", "\\ud800")),
    verdict: broken(DAY, 4, 3, /lone surrogate/u),
  },
  {
    name: "a carriage return before the newline, chained",
    files: rechained((line) => `${line}\r`),
    verdict: broken(DAY, 4, 3, /not the canonical spelling/u),
  },
  { name: "a byte order mark, chained", files: rechained((line) => `\ufeff${line}`), verdict: broken(DAY, 4, 3, /^not JSON$/u) },
  {
    name: "another spelling of the time, chained",
    files: rechained((line) => line.replace(".000Z", "Z")),
    verdict: broken(DAY, 4, 3, /^time: expected an RFC 3339/u),
  },
  {
    name: "a day that doesn't exist, chained",
    files: rechained((line) => line.replace("2026-01-05T", "2026-02-30T")),
    verdict: broken(DAY, 4, 3, /^time: expected an RFC 3339/u),
  },
  {
    name: "an unknown kind of event, chained",
    files: rechained((line) => line.replace('"kind":"decision"', '"kind":"decided"')),
    verdict: broken(DAY, 4, 3, /^event\.kind/u),
  },
  {
    name: "an upper-case hash, chained",
    files: rechained((line) => line.replace(/"prev":"[^"]*"/u, (text) => text.toUpperCase().replace("PREV", "prev"))),
    verdict: broken(DAY, 4, 3, /^prev: expected 64 lower-case/u),
  },
  {
    name: "not UTF-8 in the middle",
    files: new Map([
      ...SOUND,
      [DAY, Buffer.concat([Buffer.from(`${FIRST[0]}\n`), Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from(`${FIRST[1]}\n`)])],
    ]),
    verdict: broken(DAY, 2, 1, /^not UTF-8$/u),
  },
  {
    name: "an empty line in the middle",
    files: firstDay(([a, ...rest]) => [String(a), "", ...rest]),
    verdict: broken(DAY, 2, 1, /^not JSON$/u),
  },
  { name: "a zeroed page in the middle", files: edited(2, /.{40}$/u, "\0".repeat(40)), verdict: broken(DAY, 2, 1, /^not JSON$/u) },
  { name: "a last line that is JSON but no record", files: withTail('{"seq":5}\n'), verdict: broken(DAY, 5, 4, /^time:/u) },
  {
    name: "a last record out of its place",
    files: withTail(`${four().line(stopped(), { seq: 7 })}\n`),
    verdict: broken(DAY, 5, 4, /^seq 7$/u),
  },
  {
    name: "a lost newline at the end of a day that isn't the last",
    files: new Map([...SOUND, [DAY, SOUND.get(DAY)?.subarray(0, -1) ?? Buffer.alloc(0)]]),
    verdict: broken(DAY, 4, 4, /^the end of the file/u),
  },
  {
    name: "a torn line at the end of a day that isn't the last",
    files: new Map([...SOUND, [DAY, Buffer.concat([SOUND.get(DAY) ?? Buffer.alloc(0), Buffer.from(HALF)])]]),
    verdict: broken(DAY, 5, 4, /^the end of the file/u),
  },

  {
    name: "a torn line in the middle that nothing describes",
    files: torn(HALF, (log) => log.add(stopped())),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
  {
    name: "a recovery without a torn line",
    files: four()
      .add({ kind: "recovery", file: DAY, offset: 0, bytes: 3, sha256: hashOf("abc") })
      .build(),
    verdict: broken(DAY, 5, 4, /^the recovery of 3 bytes/u),
  },
  {
    name: "a recovery that describes a good record before it",
    files: (() => {
      const log = four();
      const line = linesOf(log.build(), DAY).at(-1) ?? "";
      return log.add(log.recovery(log.offset - line.length - 1, line)).build();
    })(),
    verdict: broken(DAY, 5, 4, /^the recovery of/u),
  },
  {
    name: "two recoveries of one torn line",
    files: (() => {
      const log = recovered();
      return log.add(log.recovery(four().offset, HALF)).build();
    })(),
    verdict: broken(DAY, 7, 5, /^the recovery of/u),
  },
  {
    name: "a recovery with another offset",
    files: torn(HALF, (log, offset) => log.add(log.recovery(offset + 1, HALF))),
    verdict: broken(DAY, 6, 4, /^the recovery of/u),
  },
  {
    name: "a recovery with another size",
    files: torn(HALF, (log, offset) => log.add(log.recovery(offset, HALF, { bytes: HALF.length + 1 }))),
    verdict: broken(DAY, 6, 4, /^the recovery of/u),
  },
  {
    name: "a recovery with another hash",
    files: torn(HALF, (log, offset) => log.add(log.recovery(offset, HALF, { sha256: hashOf("other") }))),
    verdict: broken(DAY, 6, 4, /^the recovery of/u),
  },
  {
    name: "a recovery of another file",
    files: torn(HALF, (log, offset) => log.add(log.recovery(offset, HALF, { file: "2026-01-04.jsonl" }))),
    verdict: broken(DAY, 6, 4, /^the recovery of/u),
  },
  {
    name: "a recovery that comes one record late",
    files: torn(HALF, (log, offset) => log.add(stopped()).add(log.recovery(offset, HALF))),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
  {
    name: "a recovery that skips a seq",
    files: torn(HALF, (log, offset) => log.chain(log.line(log.recovery(offset, HALF), { seq: 6 }))),
    verdict: broken(DAY, 6, 4, /seq 6 and/u),
  },
  {
    name: "a second torn line that is no beginning of a recovery",
    files: torn(HALF, (log) => log.raw('{"seq":6')),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
  {
    name: "an edited torn line",
    files: (() => {
      const text = recovered().build().get(DAY)?.toString() ?? "";
      return new Map([[DAY, Buffer.from(text.replace(HALF, HALF.replace("5", "6")))]]);
    })(),
    verdict: broken(DAY, 6, 4, /^the recovery of/u),
  },
  {
    name: "a recovered line put into a later record's place",
    files: recovered().add(approval(9, "gone")).raw(`${HALF}\n`).raw("more\n").build(),
    verdict: broken(DAY, 8, 6, /^not JSON$/u),
  },
];
