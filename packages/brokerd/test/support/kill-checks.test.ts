/** What checks the kills is only as good as the faults that it is seen to find. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { ToolOutcome } from "@boxmaker/proto";
import { type Acknowledged, AcknowledgedCheck } from "./acknowledged.ts";
import { LogTail } from "./log-tail.ts";
import { BoxFiles, Rig } from "./rig.ts";

/** Four calls of one session: denied, run, refused, approved; and what was told of them. */
async function history(files: BoxFiles): Promise<readonly Acknowledged[]> {
  mkdirSync(files.at("acts"));
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const fields = { session: "s-0" };
  const told: Acknowledged[] = [];
  const tell = (call: number, outcome: unknown): void => {
    told.push({ kind: "outcome", key: `s-0-${call}`, outcome: outcome as ToolOutcome });
  };
  tell(0, await rig.send("shell", { command: "true" }, fields).outcome);
  tell(1, await rig.read("a", fields).outcome);
  for (const [call, answer] of [
    [2, "refused"],
    [3, "approved"],
  ] as const) {
    const sent = rig.write("a", fields);
    const approval = await sent.pending;
    told.push({ kind: "pending", key: `s-0-${call}`, approval });
    await (answer === "refused" ? rig.refuse(approval) : rig.approve(approval));
    told.push({ kind: "answered", approval, answer });
    tell(call, await sent.outcome);
  }
  return told;
}

test("what was told as it is on record is found there, and every other answer is missed", async () => {
  using files = new BoxFiles();
  const told = await history(files);
  const check = new AcknowledgedCheck([files.at("acts")]);
  check.read(new LogTail(files.at("audit")).read());
  check.check(told);
  check.started();
  assert.deepEqual([check.lost, check.unsound], [[], []]);
  const outcomes = told.filter((one) => one.kind === "outcome");
  for (const one of outcomes) {
    for (const other of outcomes)
      if (JSON.stringify(other.outcome) !== JSON.stringify(one.outcome)) check.check([{ ...one, outcome: other.outcome }]);
    check.check([{ ...one, key: "s-0-99" }]);
  }
  // The two that ran came to the same result.
  assert.equal(check.lost.length, 4 * 3 - 2 + 4);
  check.check([{ kind: "pending", key: "s-0-1", approval: 4 }]);
  check.check([{ kind: "answered", approval: 4, answer: "approved" }]);
  assert.equal(check.lost.length, 16);
});

test("a deed without its record is found, and so are an ask that is left, a second end and a second decision", async () => {
  using files = new BoxFiles();
  await history(files);
  const records = new LogTail(files.at("audit")).read();
  const check = new AcknowledgedCheck([files.at("acts")]);
  check.read(records);
  for (const name of ["s-0-1", "s-0-3", ".s-0-9.tmp"]) writeFileSync(files.at(`acts/${name}`), "");
  check.checkActions();
  assert.deepEqual([check.actions, check.unrecorded], [2, []]);
  for (const name of ["s-0-0", "s-0-2", "s-0-99"]) writeFileSync(files.at(`acts/${name}`), "");
  check.checkActions();
  assert.deepEqual(check.unrecorded.toSorted(), ["s-0-0", "s-0-2", "s-0-99"]);
  check.read(records.filter(({ event }) => event.kind === "approval" || event.kind === "decision"));
  assert.equal(check.unsound.length, 2 + 4);
  const left = new AcknowledgedCheck([files.at("acts")]);
  left.read(records.filter(({ event }) => event.kind !== "approval"));
  left.started();
  assert.equal(left.unsound.length, 2);
});

test("a log is read on where it grew, and one that doesn't follow is refused", async () => {
  using files = new BoxFiles();
  await history(files);
  const [name = ""] = readdirSync(files.at("audit")).filter((entry) => entry.endsWith(".jsonl"));
  const lines = readFileSync(files.at(`audit/${name}`), "utf8")
    .split("\n")
    .slice(0, -1);
  const copy = files.at("copy");
  mkdirSync(copy);
  const write = (some: readonly string[], end = "\n"): void => writeFileSync(`${copy}/${name}`, `${some.join("\n")}${end}`);
  const tail = new LogTail(copy);
  write(lines.slice(0, 3), "\n{");
  assert.equal(tail.read().length, 3);
  write(lines);
  assert.equal(tail.read().length, lines.length - 3);
  assert.equal(tail.read().length, 0);
  write(lines.toSpliced(2, 1));
  assert.throws(() => new LogTail(copy).read(), /doesn't follow/u);
  write(lines.with(2, "torn"));
  assert.throws(() => new LogTail(copy).read(), /doesn't follow|accounted/u);
});
