/** Every state that an audit directory can be in, and what both programs make of it: one outcome each, one line to read. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { openAuditLog } from "../../packages/brokerd/src/audit/audit-log.ts";
import { verifyAudit } from "../../packages/bxctl/src/audit/verify-audit.ts";
import { four, HALF } from "../../packages/proto/test/audit/damage.ts";
import { LogBuilder, type LogFiles, soundLog, stopped } from "../../packages/proto/test/audit/log-builder.ts";

/** What a program says: a number of records, or a line that matches, with the status of verify. */
interface Verified {
  readonly status: number;
  readonly says: RegExp;
}

interface State {
  readonly name: string;
  /** Puts the state at `audit`, in a folder of its own. */
  readonly make: (audit: string, folder: string) => void;
  readonly verify: Verified;
  /** The head after start, or what start is refused with. */
  readonly start: number | RegExp;
  /** One of the lines that a start which succeeds has for the owner. */
  readonly notice?: RegExp;
}

function put(audit: string, files: LogFiles): void {
  mkdirSync(audit, { mode: 0o700 });
  for (const [name, bytes] of files) writeFileSync(join(audit, name), bytes, { mode: 0o600 });
}

function files(...entries: readonly (readonly [string, string])[]): LogFiles {
  return new Map(entries.map(([name, text]) => [name, Buffer.from(text)]));
}

const DAY = "2026-01-05.jsonl";
const SOUND = soundLog().build();
const FOUR = four().build();
const TORN = four().raw(HALF).build();

function ok(records: number): Verified {
  return { status: 0, says: new RegExp(`^(?:audit: [^\\n]+ is no part of the log\\n)*audit: ok, ${records} records\\n`, "u") };
}

function unusable(problem: string, status = 1): Verified {
  return {
    status,
    says: new RegExp(`^audit: cannot verify "[^\\n]+": [^\\n]*${problem}[^\\n]*; see docs/runbook\\.md#audit-directory\\n$`, "u"),
  };
}

function refused(problem: string): RegExp {
  return new RegExp(
    `^cannot use "[^\\n]+" as the audit log: [^\\n]*${problem}[^\\n]*; see docs/runbook\\.md#audit-directory$`,
    "u",
  );
}

function broken(place: string): { verify: Verified; start: RegExp } {
  const says = `broken: "${place} [^\\n]+; see docs/runbook\\.md#audit-broken`;
  return {
    verify: { status: 1, says: new RegExp(`^audit: ${says}\\n$`, "u") },
    start: new RegExp(`^the audit log is ${says}$`, "u"),
  };
}

function withEntry(make: (path: string) => void, name: string): State["make"] {
  return (audit) => {
    put(audit, SOUND);
    make(join(audit, name));
  };
}

const makePipe = (path: string): void => {
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
};

const STRANGERS = [
  "2026-02-30.jsonl",
  "2026-0x-18.jsonl",
  "2026-1-5.jsonl",
  "2026-01-05.jsonl.bak",
  "notes",
  ".lock",
  "1969-12-31.jsonl",
];

const STATES: readonly State[] = [
  { name: "a missing directory", make: () => {}, verify: unusable("ENOENT", 2), start: 0 },
  { name: "an empty directory", make: (audit) => put(audit, new Map()), verify: ok(0), start: 0 },
  { name: "one empty file", make: (audit) => put(audit, files([DAY, ""])), verify: ok(0), start: 0 },
  {
    name: "empty files only",
    make: (audit) => put(audit, files([DAY, ""], ["2026-01-06.jsonl", ""])),
    verify: ok(0),
    start: 0,
  },
  {
    name: "folders of the log only",
    make: (audit) =>
      ["blobs", "grants", "checkpoints"].map((name) => mkdirSync(join(audit, name), { recursive: true, mode: 0o700 })),
    verify: ok(0),
    start: 0,
  },
  { name: "a sound log", make: (audit) => put(audit, SOUND), verify: ok(11), start: 11 },
  {
    name: "a torn first record",
    make: (audit) => put(audit, files([DAY, '{"seq":1,'])),
    verify: { status: 0, says: /^audit: ok, 0 records\ntorn tail: 1\n/u },
    start: 1,
    notice: /^audit log: "2026-01-05\.jsonl" line 1 was cut off .+ in seq 1; see docs\/runbook\.md#audit-recovered$/u,
  },
  {
    name: "a torn tail",
    make: (audit) => put(audit, TORN),
    verify: { status: 0, says: /^audit: ok, 4 records\ntorn tail: 1\n/u },
    start: 5,
    notice: /line 5 was cut off .+#audit-recovered$/u,
  },
  {
    name: "a torn tail before an empty newest file",
    make: (audit) => put(audit, new Map([...TORN, ["2026-01-06.jsonl", Buffer.alloc(0)]])),
    verify: { status: 0, says: /^audit: ok, 4 records\ntorn tail: 1\n/u },
    start: 5,
    notice: /"2026-01-05\.jsonl" line 5 was cut off .+#audit-recovered$/u,
  },
  {
    name: "a torn tail before a newest file with records",
    make: (audit) => put(audit, four().raw(HALF).day("2026-01-06").add(stopped()).build()),
    ...broken('2026-01-05.jsonl" line 5'),
  },
  {
    name: "a day that is missing in the middle",
    make: (audit) => put(audit, new Map([...SOUND].filter(([name]) => name !== "2026-01-06.jsonl"))),
    ...broken('2026-01-08.jsonl" line 1'),
  },
  {
    name: "a first day that is missing",
    make: (audit) => put(audit, new Map([...SOUND].filter(([name]) => name !== DAY))),
    ...broken('2026-01-06.jsonl" line 1'),
  },
  {
    name: "a day under another day's name",
    make: (audit) => {
      put(audit, SOUND);
      renameSync(join(audit, "2026-01-08.jsonl"), join(audit, "2026-01-04.jsonl"));
    },
    ...broken('2026-01-04.jsonl" line 1'),
  },
  {
    name: "a newest file of a day that is yet to come",
    make: (audit) => put(audit, new LogBuilder("2026-12-31").add(stopped()).build()),
    verify: ok(1),
    start: 1,
  },
  ...STRANGERS.map((name) => ({
    name: `a file called ${name}`,
    make: withEntry((path) => writeFileSync(path, "anything"), name),
    verify: { status: 0, says: new RegExp(`^audit: "${name}" is no part of the log\\naudit: ok, 11 records\\n`, "u") },
    start: 11,
    notice: new RegExp(`^"${name}" in "[^\\n]+" is no part of the audit log$`, "u"),
  })),
  {
    name: "a folder, a link and a pipe that are no part of the log",
    make: (audit) => {
      withEntry((path) => mkdirSync(path), "old")(audit, "");
      symlinkSync("/nowhere", join(audit, "link"));
      makePipe(join(audit, "pipe"));
    },
    verify: ok(11),
    start: 11,
    notice: /^"pipe" in ".+" is no part of the audit log$/u,
  },
  {
    name: "a link in the place of the directory",
    make: (audit, folder) => {
      put(join(folder, "real"), SOUND);
      symlinkSync(join(folder, "real"), audit);
    },
    verify: unusable("it is a link or a file, expected a directory", 2),
    start: refused("it is a link or a file, expected a directory"),
  },
  {
    name: "a dangling link in the place of the directory",
    make: (audit) => symlinkSync("/nowhere", audit),
    verify: unusable("it is a link or a file, expected a directory", 2),
    start: refused("it is a link or a file, expected a directory"),
  },
  {
    name: "a file in the place of the directory",
    make: (audit) => writeFileSync(audit, ""),
    verify: unusable("it is a link or a file, expected a directory", 2),
    start: refused("it is a link or a file, expected a directory"),
  },
  ...["2026-01-09.jsonl", "2026-01-07.jsonl"].map((name) => ({
    name: `a link in the place of ${name}`,
    make: withEntry((path) => symlinkSync(join(path, "../2026-01-05.jsonl"), path), name),
    verify: unusable(`"${name}" is a symbolic link, expected a file`),
    start: refused(`"${name}" is a symbolic link, expected a file`),
  })),
  {
    name: "a folder in the place of a day file",
    make: withEntry((path) => mkdirSync(path), "2026-01-09.jsonl"),
    verify: unusable('"2026-01-09.jsonl" is a folder, expected a file'),
    start: refused('"2026-01-09.jsonl" is a folder, expected a file'),
  },
  {
    name: "a pipe in the place of a day file",
    make: withEntry(makePipe, "2026-01-09.jsonl"),
    verify: unusable('"2026-01-09.jsonl" is neither a file nor a folder, expected a file'),
    start: refused('"2026-01-09.jsonl" is neither a file nor a folder, expected a file'),
  },
  ...["blobs", "grants", "checkpoints"].flatMap((name) => [
    {
      name: `a link in the place of ${name}`,
      make: withEntry((path) => symlinkSync("/tmp", path), name),
      verify: unusable(`"${name}" is a symbolic link, expected a folder`),
      start: refused(`"${name}" is a symbolic link, expected a folder`),
    },
    {
      name: `a file in the place of ${name}`,
      make: withEntry((path) => writeFileSync(path, ""), name),
      verify: unusable(`"${name}" is a file, expected a folder`),
      start: refused(`"${name}" is a file, expected a folder`),
    },
  ]),
  {
    name: "a directory that others may read",
    make: (audit) => {
      put(audit, SOUND);
      chmodSync(audit, 0o755);
    },
    verify: ok(11),
    start: 11,
    notice: /^took other users' access to ".+" away$/u,
  },
  {
    // Only who writes has to fear what else may be written under the other name.
    name: "a newest file with a second name",
    make: (audit, folder) => {
      put(audit, FOUR);
      linkSync(join(audit, DAY), join(folder, "second"));
    },
    verify: ok(4),
    start: refused('"2026-01-05.jsonl" has 2 names, expected this one only'),
  },
  {
    name: "an older file with a second name",
    make: (audit, folder) => {
      put(audit, SOUND);
      linkSync(join(audit, DAY), join(folder, "second"));
    },
    verify: ok(11),
    start: 11,
  },
];

for (const { name, make, verify, start, notice } of STATES) {
  test(`start and verify know ${name}`, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-states-")));
    try {
      const directory = AbsPath.parse(join(folder, "audit"));
      make(directory, folder);
      let text = "";
      assert.equal(await verifyAudit(directory, { write: (part) => (text += part) }), verify.status, text);
      assert.match(text, verify.says);
      const clock = { now: () => Date.parse("2026-01-10T00:00:00.000Z"), monotonic: () => 0 };
      const opening = await openAuditLog({ directory, clock, onRecord: () => {}, warn: () => {} });
      if (opening.kind === "refused") {
        assert(start instanceof RegExp, opening.problem);
        assert.match(opening.problem, start);
        return;
      }
      const { head } = opening.log;
      await opening.log[Symbol.asyncDispose]();
      assert.equal(head, start);
      assert.ok(notice === undefined || opening.notices.some((line) => notice.test(line)), opening.notices.join("\n"));
      assert.ok(notice !== undefined || opening.notices.length === 0, opening.notices.join("\n"));
      let again = "";
      assert.equal(await verifyAudit(directory, { write: (part) => (again += part) }), 0, again);
      assert.match(again, new RegExp(`^audit: ok, ${head} records$`, "mu"));
      assert.doesNotMatch(again, /torn tail/u);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
