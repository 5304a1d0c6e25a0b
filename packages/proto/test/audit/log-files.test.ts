import assert from "node:assert/strict";
import { test } from "node:test";
import { DayFileName, type DirectoryEntry, dayFileOf, listLog, Timestamp } from "@boxmaker/proto";
import fc from "fast-check";

function entry(name: string, kind: DirectoryEntry["kind"] = "file", bytes = 0): DirectoryEntry {
  return { name, kind, bytes };
}

const VALID = ["2026-01-05.jsonl", "1970-01-01.jsonl", "9999-12-31.jsonl", "2024-02-29.jsonl"];
const INVALID = [
  "2026-0x-18.jsonl",
  "2026-13-01.jsonl",
  "2026-01-99.jsonl",
  "2026-02-29.jsonl",
  "2026-00-10.jsonl",
  "1969-12-31.jsonl",
  "0000-01-01.jsonl",
  "2026-1-05.jsonl",
  "2026-01-05.jsonl.bak",
  "2026-01-05.json",
  ".2026-01-05.jsonl",
  "2026-01-05.JSONL",
  "２026-01-05.jsonl",
  "2026-01-05.jsonl\n",
  "",
];

test("a day file is named for a day that exists", () => {
  for (const name of VALID) assert.ok(DayFileName.safeParse(name).success, name);
  for (const name of INVALID) assert.ok(!DayFileName.safeParse(name).success, name);
});

test("a directory is sorted into days in order, folders, and strangers", () => {
  const listing = listLog([
    entry("2026-01-06.jsonl", "file", 6),
    entry("notes.txt"),
    entry("blobs", "directory"),
    entry("grants", "directory"),
    entry("checkpoints", "directory"),
    entry("2026-01-05.jsonl", "file", 5),
    entry("2026-13-05.jsonl", "link"),
    entry("lost+found", "directory"),
  ]);
  assert.deepEqual(listing, {
    kind: "log",
    files: [
      { name: "2026-01-05.jsonl", bytes: 5 },
      { name: "2026-01-06.jsonl", bytes: 6 },
    ],
    strangers: ["2026-13-05.jsonl", "lost+found", "notes.txt"],
  });
});

test("a link, folder or device in the place of a day or of a folder of the log is refused by name", () => {
  for (const [name, kind] of [
    ["2026-01-05.jsonl", "link"],
    ["2026-01-05.jsonl", "directory"],
    ["2026-01-05.jsonl", "other"],
    ["blobs", "link"],
    ["blobs", "file"],
    ["grants", "other"],
  ] as const) {
    const listing = listLog([entry(name, kind)]);
    assert(listing.kind === "refused", `${name} as ${kind}`);
    assert.ok(listing.problem.includes(`"${name}"`));
  }
});

test("the file of a time is that of its UTC day, and the order of names is the order of days", () => {
  assert.equal(dayFileOf(Timestamp.parse("2026-01-05T23:59:59.999Z")), "2026-01-05.jsonl");
  const times = fc.date({ min: new Date(0), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true });
  fc.assert(
    fc.property(times, times, (a, b) => {
      const [first, second] = [a, b].map((date) => dayFileOf(Timestamp.parse(date.toISOString())));
      assert.equal(
        first !== undefined && second !== undefined && first < second,
        Math.floor(+a / 86_400_000) < Math.floor(+b / 86_400_000),
      );
    }),
  );
});
