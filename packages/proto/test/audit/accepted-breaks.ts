/** Logs with a break and a record that accepts it, rightly or not. */
import {
  broken,
  DAY,
  type DamagedLog,
  edited,
  FIRST,
  firstDay,
  four,
  LAST_DAY,
  NEXT_DAY,
  SOUND,
  tornTail,
  whole,
} from "./damage.ts";
import {
  continued,
  decision,
  hashOf,
  type LogBuilder,
  type LogFiles,
  linesOf,
  result,
  splitLines,
  started,
  stopped,
} from "./log-builder.ts";

/** Where the logs here break, in the very words of the verifier: they are part of the record's meaning. */
interface At {
  readonly file: string;
  readonly line: number;
  readonly offset: number;
  readonly expected: string;
  readonly found: string;
  readonly last_good: number;
  readonly last_good_sha256: string;
}

/** The event that accepts a break, where every line of the log from `from` on (counted from 0) is unaccounted for. */
function accepted(files: LogFiles, at: At, from: number): object {
  const names = [...files.keys()].sort();
  const lines = names.flatMap((name) => splitLines(files.get(name) ?? Buffer.alloc(0))).slice(from);
  const sha256 = hashOf(lines.map((line) => `${hashOf(line)}\n`).join(""));
  return { kind: "accepted_break", ...at, lines: lines.length, sha256 };
}

/** The sound log with another session in its second record, which its third record's hash gives away. */
const CHANGED = edited(2, "s-1", "s-9");
const [, SECOND = "", THIRD = ""] = linesOf(CHANGED, DAY);
const CHANGED_AT: At = {
  file: DAY,
  line: 3,
  offset: linesOf(CHANGED, DAY).slice(0, 2).join("\n").length + 1,
  expected: `prev ${hashOf(SECOND)}`,
  found: `prev ${/"prev":"(?<prev>[0-9a-f]{64})"/u.exec(THIRD)?.groups?.["prev"]}`,
  last_good: 2,
  last_good_sha256: hashOf(SECOND),
};
const ACCEPTED = accepted(CHANGED, CHANGED_AT, 2);
const STILL = broken(DAY, 3, 2, /^prev /u);

function behind(event: object): LogBuilder {
  return continued(CHANGED).accept(event);
}

/** Four good records, a line of nonsense, a record behind it, and what accepts that. */
function nonsense(): { readonly log: LogBuilder; readonly event: object } {
  const log = four();
  const at: At = {
    file: DAY,
    line: 5,
    offset: log.offset,
    expected: `a record with seq 5 and prev ${log.prev}`,
    found: "not JSON",
    last_good: 4,
    last_good_sha256: log.prev,
  };
  log.raw("nonsense\n").add(stopped());
  return { log, event: accepted(log.build(), at, 4) };
}

function twice(): LogBuilder {
  const log = behind(ACCEPTED).add(started(12));
  const at: At = {
    file: LAST_DAY,
    line: 6,
    offset: log.offset,
    expected: "seq 14",
    found: "seq 99",
    last_good: 13,
    last_good_sha256: log.prev,
  };
  log.raw(`${log.line(stopped(), { seq: 99 })}\n`);
  return log.accept(accepted(log.build(), at, 13)).add(decision(7, "allowed"), result(16, 7));
}

const UNENDED = new Map([...SOUND, [NEXT_DAY, (SOUND.get(NEXT_DAY) ?? Buffer.alloc(0)).subarray(0, -1)]]);
const UNENDED_AT: At = {
  file: NEXT_DAY,
  line: 4,
  offset: linesOf(SOUND, NEXT_DAY)
    .slice(0, 3)
    .reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
  expected: "a newline at the end of the line",
  found: "the end of the file, with more records in a later one",
  last_good: 8,
  last_good_sha256: hashOf(linesOf(SOUND, NEXT_DAY).at(-1) ?? ""),
};

const FIELDS: readonly (readonly [name: string, changes: object])[] = [
  ["of another file", { file: NEXT_DAY }],
  ["of another line", { line: 4 }],
  ["of another offset", { offset: CHANGED_AT.offset + 1 }],
  ["that expected something else", { expected: CHANGED_AT.found }],
  ["that found something else", { found: CHANGED_AT.expected }],
  ["with another last good seq", { last_good: 3 }],
  ["with another last good hash", { last_good_sha256: hashOf(THIRD) }],
  ["of fewer lines", { lines: 8 }],
  ["of other lines", { sha256: hashOf("other") }],
];

export const ACCEPTED_BREAKS: readonly DamagedLog[] = [
  { name: "an accepted break", files: behind(ACCEPTED).build(), verdict: whole(3, 12) },
  {
    name: "an accepted break, with records behind it",
    files: behind(ACCEPTED).add(started(12), decision(8, "denied"), stopped()).build(),
    verdict: whole(6, 15),
  },
  {
    name: "a break that was accepted on a later day",
    files: continued(CHANGED).day("2026-01-09").accept(ACCEPTED).add(started(12)).build(),
    verdict: whole(4, 13),
  },
  {
    name: "an accepted line of nonsense",
    files: (() => {
      const { log, event } = nonsense();
      return log.accept(event).add(started(7)).build();
    })(),
    verdict: whole(6, 8),
  },
  {
    name: "an accepted break in the first line",
    files: (() => {
      const files = firstDay((lines) => lines.slice(1));
      const at: At = {
        file: DAY,
        line: 1,
        offset: 0,
        expected: "seq 1",
        found: "seq 2",
        last_good: 0,
        last_good_sha256: "0".repeat(64),
      };
      return continued(files)
        .accept(accepted(files, at, 0))
        .build();
    })(),
    verdict: whole(1, 11),
  },
  {
    name: "an accepted newline that an earlier day's file lacks",
    files: continued(UNENDED)
      .accept(accepted(UNENDED, UNENDED_AT, 8))
      .add(stopped())
      .build(),
    verdict: whole(10, 13),
  },
  { name: "two accepted breaks", files: twice().build(), verdict: whole(7, 17) },
  {
    name: "an acceptance that was torn, and another one",
    files: (() => {
      const log = continued(CHANGED).raw(`${JSON.stringify(ACCEPTED).slice(0, 100)}\n`);
      return log
        .accept(accepted(log.build(), CHANGED_AT, 2))
        .add(stopped())
        .build();
    })(),
    verdict: whole(4, 14),
  },
  {
    name: "half a line behind an accepted break",
    files: behind(ACCEPTED).add(stopped()).raw('{"seq":14').build(),
    verdict: tornTail(4, 1, 13),
  },

  ...FIELDS.map(([name, changes]) => ({
    name: `an acceptance ${name}`,
    files: behind({ ...ACCEPTED, ...changes })
      .add(started(12))
      .build(),
    verdict: STILL,
  })),
  {
    name: "an acceptance that is numbered as the record after the last good one",
    files: (() => {
      const log = continued(CHANGED).accept(ACCEPTED);
      const line = linesOf(log.build(), LAST_DAY).at(-1) ?? "";
      return continued(CHANGED)
        .raw(`${line.replace('"seq":12', '"seq":3')}\n`)
        .build();
    })(),
    verdict: STILL,
  },
  {
    name: "an acceptance that follows the last good record",
    files: (() => {
      const log = continued(CHANGED);
      log.seq = 11;
      log.prev = CHANGED_AT.last_good_sha256;
      return log.add(ACCEPTED).build();
    })(),
    verdict: STILL,
  },
  {
    name: "an acceptance dated after its file's day",
    files: (() => {
      const log = continued(CHANGED);
      log.time = "2026-01-09T00:00:00.000Z";
      return log.accept(ACCEPTED).build();
    })(),
    verdict: STILL,
  },
  {
    name: "an acceptance without its newline",
    files: new Map([...behind(ACCEPTED).build()].map(([name, bytes]) => [name, name === LAST_DAY ? bytes.subarray(0, -1) : bytes])),
    verdict: STILL,
  },
  {
    name: "a line that was changed after it had been given up",
    files: new Map(
      [...behind(ACCEPTED).build()].map(([name, bytes]) => [
        name,
        name === NEXT_DAY ? Buffer.from(bytes.toString().replace('"denied"', '"allowed"')) : bytes,
      ]),
    ),
    verdict: STILL,
  },
  {
    name: "a record before the break that was changed after the break had been accepted",
    files: (() => {
      const lines = [FIRST[0]?.replace("0.1.0", "0.1.1") ?? "", ...linesOf(CHANGED, DAY).slice(1)];
      const files = behind(ACCEPTED).build();
      return new Map([...files, [DAY, Buffer.from(`${lines.join("\n")}\n`)]]);
    })(),
    verdict: broken(DAY, 2, 1, /^prev /u),
  },
  {
    name: "an acceptance with nothing to accept",
    files: four().add(ACCEPTED, stopped()).build(),
    verdict: broken(DAY, 5, 4, /^an accepted_break$/u),
  },
  {
    name: "two acceptances of one break",
    files: behind(ACCEPTED).add(ACCEPTED, stopped()).build(),
    verdict: broken(LAST_DAY, 5, 12, /^an accepted_break$/u, 3),
  },
  {
    name: "an acceptance that a recovery calls torn",
    files: (() => {
      const log = behind(ACCEPTED);
      const line = linesOf(log.build(), LAST_DAY).at(-1) ?? "";
      const event = log.recovery(log.offset - Buffer.byteLength(line) - 1, line);
      return log.add(event, stopped()).build();
    })(),
    verdict: broken(LAST_DAY, 5, 12, /^the recovery of/u, 3),
  },
  {
    name: "a second break behind an accepted one",
    files: behind(ACCEPTED).add(started(12)).raw("nonsense\n").add(stopped()).build(),
    verdict: broken(LAST_DAY, 6, 13, /^not JSON$/u, 4),
  },
  {
    name: "records that go on behind a break as if it had been accepted",
    files: continued(CHANGED).accept(started(11)).add(stopped()).build(),
    verdict: STILL,
  },
];
