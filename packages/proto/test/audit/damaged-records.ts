/** Logs whose records somebody has edited, moved, removed or forged. */

import {
  broken,
  DAY,
  type DamagedLog,
  edited,
  FIRST,
  firstDay,
  four,
  HALF,
  LAST_DAY,
  NEXT_DAY,
  rechained,
  SOUND,
  TOO_LONG,
  withTail,
} from "./damage.ts";
import { stopped } from "./log-builder.ts";

export const DAMAGED_RECORDS: readonly DamagedLog[] = [
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
    name: "a line of more megabytes than a record may have",
    files: four().raw(TOO_LONG).add(stopped()).build(),
    verdict: broken(DAY, 5, 4, /^a line longer than 4194304 bytes$/u),
  },
  {
    name: "a changed record, and a later file without its last newline, with another behind it",
    files: new Map([...edited(2, "s-1", "s-9"), [NEXT_DAY, (SOUND.get(NEXT_DAY) ?? Buffer.alloc(0)).subarray(0, -1)]]),
    verdict: broken(DAY, 3, 2, /^prev /u),
  },
  {
    name: "a torn line at the end of a day that isn't the last",
    files: new Map([...SOUND, [DAY, Buffer.concat([SOUND.get(DAY) ?? Buffer.alloc(0), Buffer.from(HALF)])]]),
    verdict: broken(DAY, 5, 4, /^the end of the file/u),
  },
];
