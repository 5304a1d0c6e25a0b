/** The saved state is a cache: whatever becomes of it, the state at start is what the log says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { CallId, SessionId, sha256 } from "@boxmaker/proto";
import { SessionStates } from "../../src/ledger/session-states.ts";
import { findSnapshot } from "../../src/ledger/snapshot-file.ts";
import { readSnapshot } from "../../src/ledger/snapshot-lines.ts";
import { BoxFiles, Rig } from "../support/rig.ts";

/** A history with something of everything that the state holds: an open ask, an unfinished call, a grant in force, labels, uses. */
async function history(files: BoxFiles): Promise<void> {
  files.grant("read", "read_file", "auto", "uses = 9");
  files.grant("foreign", "read_file", "auto", 'label = "secret"\nuntrusted = true', [files.at("work")]);
  files.grant("write", "write_file", "ask", 'max_taint = "secret"');
  await using rig = await Rig.open(files);
  await rig.read("a", { call: 1 }).outcome;
  await rig.send("read_file", { path: files.at("work/x") }, { call: 2 }).outcome;
  const written = rig.write("b", { call: 3 });
  await rig.approve(await written.pending);
  await written.outcome;
  await rig.allow("read_file", files.at("work"), { uses: 3 }).allowing;
  const rewound = { session: SessionId.parse("chat-1"), turn: 1, call: CallId.parse(2), to: SessionId.parse("chat-2") };
  await rig.approvals.rewind(rewound);
  await rig.write("c", { call: 7 }).pending;
  rig.runtime.answer = () => new Promise(() => undefined);
  void rig.read("d", { session: "busy", call: 1 });
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  await rig.saver.save();
}

function contentsFromLog(files: BoxFiles): ReturnType<SessionStates["contents"]> {
  const states = new SessionStates();
  for (const record of files.records()) states.apply(record);
  return states.contents();
}

/** What a start finds: the state, and how many records it had from the file. */
async function start(files: BoxFiles): Promise<{ readonly saved: number; readonly notices: readonly string[] }> {
  const expected = contentsFromLog(files);
  await using rig = await Rig.open(files);
  assert.deepEqual(rig.states.contents(), expected);
  const { saved, notices, opening } = rig.opened;
  return { saved, notices: [...notices, ...(opening.kind === "open" ? opening.notices : [])] };
}

test("what was saved is used, and the records behind it are carried on", async () => {
  using files = new BoxFiles();
  await history(files);
  const { length } = files.records();
  assert.deepEqual(await start(files), { saved: length, notices: [] });
  const found = await findSnapshot(files.savedState);
  const { sessions, paths, uses, asks, unfinished, sessionGrants } = found.snapshot?.states.contents() ?? assert.fail();
  for (const list of [sessions, paths, uses, asks, unfinished, sessionGrants]) assert.ok(list.length > 0);
  {
    await using rig = await Rig.open(files);
    await rig.read("e", { call: 9 }).outcome;
  }
  assert.deepEqual(await start(files), { saved: length, notices: [] });
  assert.equal(statSync(files.savedState).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(files.savedState)).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(dirname(files.savedState)), ["snapshot.jsonl"]);
});

test("a file that is cut at any byte is damaged", async () => {
  using files = new BoxFiles();
  await history(files);
  const bytes = readFileSync(files.savedState);
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(readSnapshot(bytes.subarray(0, length)).kind, "damaged", `cut at ${length}`);
  }
  assert.equal(readSnapshot(bytes).kind, "snapshot");
  assert.equal(readSnapshot(Buffer.concat([bytes, Buffer.from("\n")])).kind, "damaged");
  assert.equal(readSnapshot(Buffer.concat([bytes, bytes])).kind, "damaged");
});

/** Every change of one value in a line of JSON, by type: it stays JSON, and mostly of the right shape. */
function changesOf(value: unknown): readonly unknown[] {
  if (typeof value === "number") return [value + 1, 0, -1].filter((other) => other !== value);
  if (typeof value === "boolean") return [!value];
  if (value === null) return [{}, 0];
  if (typeof value === "string") {
    const classes = ["public", "private", "secret"];
    return classes.includes(value) ? classes.filter((other) => other !== value) : [`${value}0`, ""];
  }
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const shorter = items.length === 0 ? [[{}]] : [[], items.slice(1)];
    return [...shorter, ...items.flatMap((item, index) => changesOf(item).map((changed) => items.with(index, changed)))];
  }
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...changesOf(inner).map((changed) => ({ ...value, [key]: changed })),
    Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)),
  ]);
}

test("a file in which any value was changed is damaged, and so is one that lost, doubled or swapped a line", async () => {
  using files = new BoxFiles();
  await history(files);
  const lines = readFileSync(files.savedState, "utf8").split("\n").slice(0, -1);
  let count = 0;
  const assertDamaged = (changed: readonly string[], what: string): void => {
    count++;
    assert.equal(readSnapshot(Buffer.from(`${changed.join("\n")}\n`)).kind, "damaged", what);
  };
  for (const [index, line] of lines.entries()) {
    for (const changed of changesOf(JSON.parse(line))) assertDamaged(lines.with(index, JSON.stringify(changed)), line);
    assertDamaged(lines.toSpliced(index, 1), `without ${line}`);
    assertDamaged(lines.toSpliced(index, 0, line), `twice ${line}`);
    const before = lines[index - 1];
    if (before !== undefined) assertDamaged(lines.with(index, before).with(index - 1, line), `swapped ${line}`);
  }
  assert.ok(count > 300, String(count));
});

test("a file whose end was made anew is held to its shape all the same", async () => {
  using files = new BoxFiles();
  await history(files);
  const lines = readFileSync(files.savedState, "utf8").split("\n").slice(0, -2);
  const sealed = (body: readonly string[]): Buffer => {
    const text = `${body.join("\n")}\n`;
    return Buffer.from(`${text}{"line":"end","lines":${body.length},"sha256":"${sha256(text)}"}\n`);
  };
  assert.equal(readSnapshot(sealed(lines)).kind, "snapshot");
  const [first = ""] = lines;
  for (const bad of [
    lines.with(0, first.replace('"version":2', '"version":1')),
    lines.slice(1),
    [...lines, '{"line":"wish"}'],
    [...lines, "{}"],
    [...lines, first],
    [],
  ]) {
    assert.equal(readSnapshot(sealed(bad)).kind, "damaged");
  }
});

test("whatever stands in its place, the state is the log's, and one line says that it had to be read whole", async () => {
  const damages: readonly (readonly [string, (path: string, bytes: Buffer) => void])[] = [
    ["gone", () => undefined],
    ["empty", (path) => writeFileSync(path, "")],
    ["cut", (path, bytes) => writeFileSync(path, bytes.subarray(0, bytes.length / 2))],
    ["changed", (path, bytes) => writeFileSync(path, bytes.toString().replaceAll('"secret"', '"public"'))],
    ["a folder", (path) => mkdirSync(path)],
    ["a FIFO", (path) => execFileSync("mkfifo", [path])],
    [
      "a link",
      (path, bytes) => {
        writeFileSync(`${path}.real`, bytes);
        symlinkSync(`${path}.real`, path);
      },
    ],
  ];
  using files = new BoxFiles();
  await history(files);
  const bytes = readFileSync(files.savedState);
  for (const [what, damage] of damages) {
    rmSync(files.savedState, { recursive: true });
    damage(files.savedState, bytes);
    const { saved, notices } = await start(files);
    assert.equal(saved, 0, what);
    assert.equal(notices.length, what === "gone" ? 0 : 1, what);
    if (what !== "gone")
      assert.match(notices[0] ?? "", /^can't use the saved state ".*snapshot\.jsonl": .*#saved-state-unusable$/u);
    rmSync(files.savedState, { recursive: true, force: true });
    writeFileSync(files.savedState, bytes);
  }
});

test("a file of another log, or one that is ahead of the log, isn't used", async () => {
  using files = new BoxFiles();
  using other = new BoxFiles();
  await history(files);
  await history(other);
  const own = readFileSync(files.savedState);
  writeFileSync(files.savedState, readFileSync(other.savedState));
  const foreign = await start(files);
  assert.equal(foreign.saved, 0);
  assert.match(foreign.notices.join("\n"), /of another audit log, or this one was cut or changed since/u);

  // The log loses its end, as on a disk that lied; then it grows again, differently.
  writeFileSync(files.savedState, own);
  const [day = ""] = readdirSync(files.at("audit")).filter((name) => name.endsWith(".jsonl"));
  const path = files.at(`audit/${day}`);
  const lines = readFileSync(path, "utf8").split("\n");
  writeFileSync(path, `${lines.slice(0, -4).join("\n")}\n`);
  assert.equal((await start(files)).saved, 0);
  {
    await using rig = await Rig.open(files);
    for (let call = 20; call < 26; call++) await rig.read("a", { call }).outcome;
  }
  assert.equal((await start(files)).saved, 0);
});

test("an older file is carried on, and a newer one replaces it only when it is whole", async () => {
  using files = new BoxFiles();
  await history(files);
  const old = readFileSync(files.savedState);
  const { length } = files.records();
  {
    await using rig = await Rig.open(files);
    await rig.read("a", { call: 30 }).outcome;
    await rig.saver.save();
    await rig.saver.save();
  }
  // The new life records its grants, too.
  assert.equal((await start(files)).saved, length + 3);
  writeFileSync(files.savedState, old);
  writeFileSync(`${files.savedState}.new`, "half");
  assert.equal((await start(files)).saved, length);
});

test("the state is saved every so many records, once they are durable, and no record waits for it", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files, { saveEvery: 5 });
  rig.log.fault = ({ kind }) => (kind === "result" ? "hold" : undefined);
  const calls = Array.from({ length: 8 }, () => rig.read());
  while (rig.ledger.head < 11) await new Promise(setImmediate);
  // Records behind it are on disk long ago; the one that it was taken behind isn't counted as durable yet.
  rig.log.release();
  await Promise.all(calls.map(({ outcome }) => outcome));
  await rig.saver.save();
  const found = await findSnapshot(files.savedState);
  assert.equal(found.snapshot?.mark.seq, rig.audit.mark.seq);
});

test("what isn't durable is never saved", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files, { saveEvery: 1 });
  rig.log.fault = ({ kind }) => (kind === "decision" ? "reject" : undefined);
  await rig.read().outcome;
  const found = await findSnapshot(files.savedState);
  assert.ok((found.snapshot?.mark.seq ?? 0) < 3);
});

test("a state that can't be saved is one line of the log, and calls go on", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  writeFileSync(dirname(files.savedState), "in the way");
  await using rig = await Rig.open(files, { saveEvery: 2 });
  for (let number = 0; number < 4; number++) {
    const outcome = await rig.read().outcome;
    assert.equal(typeof outcome === "object" && outcome.outcome, "result");
  }
  await rig.saver.save();
  assert.match(rig.lines.join("\n"), /the state could not be saved: .*; see docs\/runbook\.md#saved-state-unusable/u);
  renameSync(dirname(files.savedState), `${dirname(files.savedState)}-gone`);
});
