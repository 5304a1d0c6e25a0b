/** Logs in which nothing is wrong, or nothing that a crash can't have done. */

import { DAY, type DamagedLog, four, HALF, NEXT_DAY, recovered, SOUND, torn, tornTail, whole, withTail } from "./damage.ts";
import { LogBuilder, stopped } from "./log-builder.ts";

export const TORN_LOGS: readonly DamagedLog[] = [
  { name: "nothing at all", files: new Map(), verdict: whole(0) },
  { name: "one empty file", files: new Map([[DAY, Buffer.alloc(0)]]), verdict: whole(0) },
  { name: "a sound log of three days", files: SOUND, verdict: whole(11) },
  {
    name: "a day without records in between",
    files: new Map([...SOUND, ["2026-01-07.jsonl", Buffer.alloc(0)]]),
    verdict: whole(11),
  },
  {
    name: "an empty newest file",
    files: new Map([...SOUND, ["2026-01-09.jsonl", Buffer.alloc(0)]]),
    verdict: whole(11),
  },
  { name: "a recovered torn line", files: recovered().add(stopped()).build(), verdict: whole(6) },
  {
    name: "a torn line that reads as a record, recovered",
    files: (() => {
      const log = four();
      const { offset } = log;
      const line = log.line(stopped());
      return log.raw(`${line}\n`).add(log.recovery(offset, line)).build();
    })(),
    verdict: whole(5),
  },
  {
    name: "a torn line that is JSON but no record, recovered",
    files: torn('{"seq":5}', (log, offset) => log.add(log.recovery(offset, '{"seq":5}'))),
    verdict: whole(5),
  },
  {
    name: "a line torn at the end of a day, recovered in the next day's file",
    files: (() => {
      const log = four();
      const event = log.recovery(log.offset, HALF);
      return log.raw(`${HALF}\n`).day("2026-01-06").add(event, stopped()).build();
    })(),
    verdict: whole(6),
  },
  {
    name: "a recovery that was itself torn, both recovered, the later one first",
    files: torn(HALF, (log, offset) => {
      const begun = log.line(log.recovery(offset, HALF)).slice(0, 40);
      const begunAt = log.offset;
      return log.raw(`${begun}\n`).add(log.recovery(begunAt, begun)).add(log.recovery(offset, HALF), stopped());
    }),
    verdict: whole(7),
  },
  {
    name: "a recovery whose own newline was lost, both recovered",
    files: torn(HALF, (log, offset) => {
      const unended = log.line(log.recovery(offset, HALF));
      const unendedAt = log.offset;
      return log.raw(`${unended}\n`).add(log.recovery(unendedAt, unended)).add(log.recovery(offset, HALF));
    }),
    verdict: whole(6),
  },

  { name: "half a last line", files: withTail(HALF), verdict: tornTail(4) },
  { name: "half a first line", files: new LogBuilder().raw('{"seq":1,').build(), verdict: tornTail(0) },
  { name: "half a last line with its newline", files: withTail(`${HALF}\n`), verdict: tornTail(4) },
  {
    name: "a whole last record without its newline",
    files: withTail(four().line(stopped())),
    verdict: tornTail(4),
  },
  {
    name: "a last line cut inside a character",
    files: withTail(Buffer.from('{"seq":5,"ü').subarray(0, -1)),
    verdict: tornTail(4),
  },
  { name: "zero bytes at the end", files: withTail(Buffer.alloc(4096)), verdict: tornTail(4) },
  {
    name: "a zeroed page inside the last line",
    files: withTail(`{"seq":5${"\0".repeat(512)}}\n`),
    verdict: tornTail(4),
  },
  {
    name: "a last line of nine megabytes",
    files: withTail(Buffer.alloc(9 * 1024 * 1024, "x")),
    verdict: tornTail(4),
  },
  {
    name: "a torn tail before an empty newest file",
    files: new Map([...withTail(HALF), [NEXT_DAY, Buffer.alloc(0)]]),
    verdict: tornTail(4),
  },
  {
    name: "half a recovery after the line it was to describe",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)).slice(0, 60))),
    verdict: tornTail(4, 2),
  },
  {
    name: "half a recovery with its newline after the line it was to describe",
    files: torn(HALF, (log, offset) => log.raw(`${log.line(log.recovery(offset, HALF)).slice(0, 60)}\n`)),
    verdict: tornTail(4, 2),
  },
  {
    name: "a whole record and its recovery that were both torn, of which only the recovery is described",
    files: (() => {
      const log = four();
      const { offset } = log;
      const record = log.line(stopped());
      const unended = log.raw(`${record}\n`).line(log.recovery(offset, record));
      const unendedAt = log.offset;
      return log.raw(`${unended}\n`).add(log.recovery(unendedAt, unended)).build();
    })(),
    verdict: tornTail(5),
  },
  {
    name: "half a recovery and zero bytes after the line it was to describe",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)).slice(0, 60)).raw(Buffer.alloc(20))),
    verdict: tornTail(4, 2),
  },
  {
    name: "a whole recovery without its newline",
    files: torn(HALF, (log, offset) => log.raw(log.line(log.recovery(offset, HALF)))),
    verdict: tornTail(4, 2),
  },
  {
    name: "a last line that is JSON but no record, without its newline",
    files: withTail('{"seq":5}'),
    verdict: tornTail(4),
  },
  {
    name: "a torn line of a second day, recovered there",
    files: (() => {
      const log = four().day("2026-01-06").add(stopped());
      const { offset } = log;
      return log.raw(`${HALF}\n`).add(log.recovery(offset, HALF)).build();
    })(),
    verdict: whole(6),
  },
];
