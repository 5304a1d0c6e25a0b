/** Logs with torn lines and recovery records that don't belong together. */

import { broken, DAY, type DamagedLog, four, HALF, recovered, TOO_LONG, torn } from "./damage.ts";
import { approval, hashOf, linesOf, stopped } from "./log-builder.ts";

export const DAMAGED_RECOVERIES: readonly DamagedLog[] = [
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
  ...(["seq", "prev"] as const).map((own): DamagedLog => {
    const log = four();
    const line = linesOf(log.build(), DAY).at(-1) ?? "";
    const event = log.recovery(log.offset - line.length - 1, line);
    const { seq, prev } = JSON.parse(line) as { readonly seq: number; readonly prev: string };
    const files = log.raw(`${log.line(event, own === "seq" ? { seq } : { prev })}\n`).build();
    return {
      name: `a recovery that calls a good record torn and takes its ${own} alone`,
      files,
      verdict: broken(DAY, 5, 4, own === "seq" ? /^seq 4$/u : /^prev /u),
    };
  }),
  {
    name: "a recovery in the place of one that was torn, and then nothing describes the whole record before both",
    files: (() => {
      const log = four();
      const { offset } = log;
      const record = log.line(stopped());
      const unended = log.raw(`${record}\n`).line(log.recovery(offset, record));
      const unendedAt = log.offset;
      return log.raw(`${unended}\n`).add(log.recovery(unendedAt, unended), stopped()).build();
    })(),
    verdict: broken(DAY, 5, 5, /^a whole record with seq 5 and no newline$/u),
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
  {
    name: "a recovery that follows another record",
    files: torn(HALF, (log, offset) => log.chain(log.line(log.recovery(offset, HALF), { prev: hashOf("other") }))),
    verdict: broken(DAY, 6, 4, /prev d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa$/u),
  },
  {
    name: "a torn line and a torn recovery that nothing describes",
    files: torn(HALF, (log, offset) => log.raw(`${log.line(log.recovery(offset, HALF)).slice(0, 60)}\n`).add(stopped())),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
  {
    name: "a line of more megabytes than a record may have after a torn one",
    files: torn(HALF, (log) => log.raw(TOO_LONG)),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
  { name: "an empty line after a torn one", files: torn(HALF, (log) => log.raw("\n")), verdict: broken(DAY, 5, 4, /^not JSON$/u) },
  {
    name: "what looks like a torn recovery, but has words for a time",
    files: torn(HALF, (log) => log.raw('{"seq":5,"time":"once')),
    verdict: broken(DAY, 5, 4, /^not JSON$/u),
  },
];
