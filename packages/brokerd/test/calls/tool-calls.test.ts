import assert from "node:assert/strict";
import { test } from "node:test";
import { CallId, sha256 } from "@boxmaker/proto";
import { untilToldOrKilled } from "../fakes/recording-runtime.ts";
import { BoxFiles, Rig } from "../support/rig.ts";

const REFUSED = { outcome: "denied", reason: "approval_refused" };

test("a call's decision is on disk when its box starts, and its result before its content is released", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.runtime.answer = () => {
    const decisions = files.events("decision");
    assert.deepEqual(
      decisions.map(({ outcome, grant, spends }) => ({ outcome, grant, spends })),
      [{ outcome: "allowed", grant: "notes", spends: null }],
    );
    return { kind: "done", status: "ok", content: "buy milk", truncated: true };
  };
  const outcome = await rig.read().outcome;
  assert.deepEqual(outcome, { outcome: "result", content: "buy milk", class: "private", untrusted: false, truncated: true });
  const [result] = files.events("result");
  assert.equal(result?.sha256, sha256("buy milk"));
  assert.equal(result?.bytes, 8);
  assert.equal(rig.ledger.running, 0);
});

test("a result that isn't durable yet isn't released", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  const held = Promise.withResolvers<void>();
  rig.log.fault = (event) => {
    if (event.kind !== "result") return undefined;
    held.resolve();
    return "hold";
  };
  let isReleased = false;
  const { outcome } = rig.read();
  const released = outcome.then(() => {
    isReleased = true;
  });
  await held.promise;
  await new Promise(setImmediate);
  assert.equal(files.events("result").length, 1);
  assert.equal(isReleased, false);
  rig.log.release();
  await released;
});

test("every request gets a decision record, whatever it asks for", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  const reasons = [
    await rig.send("teleport", {}).outcome,
    await rig.send("read_file", "{").outcome,
    await rig.send("read_file", { path: "/etc/passwd" }).outcome,
  ].map((outcome) => (typeof outcome === "object" && outcome.outcome === "denied" ? outcome.reason : outcome));
  assert.deepEqual(reasons, ["no_grant", "invalid_arguments", "no_grant"]);
  files.grant("broken", "read_file", "sometimes");
  assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "grants_invalid" });
  assert.deepEqual(
    files.events("decision").map(({ reason }) => reason),
    ["no_grant", "invalid_arguments", "no_grant", "grants_invalid"],
  );
  assert.equal(rig.runtime.runs.length, 0);
});

test("an ask waits, is told once, and runs after it is approved", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  assert.equal(rig.runtime.runs.length, 0);
  rig.runtime.answer = () => {
    const [approval] = files.events("approval");
    assert.equal(approval?.answer, "approved");
    assert.equal(approval?.outcome, "ask");
    return { kind: "done", status: "ok", content: "written", truncated: false };
  };
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "ask" } });
  assert.deepEqual(await sent.outcome, {
    outcome: "result",
    content: "written",
    class: "private",
    untrusted: false,
    truncated: false,
  });
  assert.equal(rig.table.size, 0);
  assert.ok(rig.table.hasRoom(rig.runtime.runs[0]?.session ?? assert.fail(), CallId.parse(9)));
});

test("a second ask of a session is denied throttled and recorded so, and one more when the first has ended isn't", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files);
  const both = [rig.write("a"), rig.write("b")];
  const first = await Promise.race(both.map(({ outcome }) => outcome));
  assert.deepEqual(first, { outcome: "denied", reason: "throttled" });
  assert.deepEqual(
    files.events("decision").map(({ outcome, reason }) => [outcome, reason]),
    [
      ["ask", null],
      ["denied", "throttled"],
    ],
  );
  assert.equal(files.events("approval").length, 0);
  const id = await Promise.race(both.map(({ pending }) => pending));
  await rig.refuse(id);
  const next = rig.write("c");
  await rig.refuse(await next.pending);
  assert.deepEqual(await next.outcome, REFUSED);
});

test("no more asks than the limit wait at once, over all sessions", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files, { maxPending: 2 });
  const sent = ["one", "two", "three"].map((session) => rig.write("a", { session }));
  const throttled = await Promise.race(sent.map(({ outcome }) => outcome));
  assert.deepEqual(throttled, { outcome: "denied", reason: "throttled" });
  assert.equal(rig.table.size, 2);
  for (const id of rig.table.ids) await rig.refuse(id);
});

test("a requester that leaves takes its ask with it, and the log says gone", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  sent.leave();
  await sent.outcome;
  assert.deepEqual(
    files.events("approval").map(({ decision, answer, by, outcome }) => ({ decision, answer, by, outcome })),
    [{ decision: id, answer: "gone", by: "brokerd", outcome: null }],
  );
  assert.equal((await rig.refuse(id)).kind, "error");
  assert.equal(rig.runtime.runs.length, 0);
});

test("a requester that can't be told that it waits counts as gone, whether the frame isn't taken or telling fails", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files);
  await rig.write("a", { tell: async () => false }).outcome;
  const failing = rig.write("a", {
    tell: async () => {
      throw new Error("no such socket\nforged line");
    },
  });
  await failing.outcome;
  assert.deepEqual(
    files.events("approval").map(({ answer }) => answer),
    ["gone", "gone"],
  );
  assert.equal(rig.table.size, 0);
  assert.ok(rig.lines.every((line) => line.indexOf("\n") === line.length - 1));
});

test("an approved call whose requester has left at the last look doesn't run, and its result says so", async () => {
  using files = new BoxFiles();
  files.grant("notes", "write_file", "ask");
  await using rig = await Rig.open(files);
  const held = Promise.withResolvers<void>();
  rig.log.fault = (event) => {
    if (event.kind !== "approval") return undefined;
    held.resolve();
    return "hold";
  };
  const sent = rig.write();
  const approving = rig.approve(await sent.pending);
  await held.promise;
  sent.leave();
  rig.log.release();
  assert.deepEqual(await approving, { kind: "approve_result", body: { outcome: "ask" } });
  const message = "The call was not run, because nobody was waiting for it any more.";
  assert.deepEqual(await sent.outcome, { outcome: "failed", message });
  assert.equal(rig.runtime.runs.length, 0);
  const [result] = files.events("result");
  assert.equal(result?.status, "failed");
  assert.equal(result?.sha256, sha256(message));
  assert.deepEqual(
    files.events("approval").map(({ answer }) => answer),
    ["approved"],
  );
});

test("a run without a result gives the model a fixed sentence, recorded by hash, and the cause goes to the log quoted", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.runtime.answer = () => ({ kind: "error", code: "timed_out", detail: "evil\n2026-01-01 error forged" });
  const message = "The tool was stopped at its time limit. What it did until then stays done.";
  assert.deepEqual(await rig.read().outcome, { outcome: "failed", message });
  assert.equal(files.events("result")[0]?.sha256, sha256(message));
  const line = rig.lines.find((one) => one.includes("run-failed"));
  assert.match(line ?? "", /detail="evil\\u000a2026-01-01 error forged"/u);
  assert.ok(rig.lines.every((one) => one.indexOf("\n") === one.length - 1));
});

test("a runner that throws leaves a recorded failure and free mounts behind", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.runtime.answer = () => {
    throw new Error("bug");
  };
  const message = "The tool ended without an answer. What it did until then stays done.";
  assert.deepEqual(await rig.read().outcome, { outcome: "failed", message });
  assert.equal(files.events("result").length, 1);
  assert.equal(rig.ledger.running, 0);
});

test("a stop answers what waits with shutting_down, lets boxes end, and takes nothing more on", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  const box = untilToldOrKilled();
  rig.runtime.answer = box.answer;
  const waiting = rig.write("a", { session: "waiting" });
  const id = await waiting.pending;
  const running = rig.read("a", { session: "running" });
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  const kill = new AbortController();
  const stopped = rig.calls.stop(kill.signal);
  assert.deepEqual(await waiting.outcome, { outcome: "denied", reason: "shutting_down" });
  const late = rig.read("b", { session: "late" });
  assert.deepEqual(await late.outcome, { outcome: "denied", reason: "shutting_down" });
  box.end();
  assert.equal(((await running.outcome) as { outcome: string }).outcome, "result");
  await stopped;
  assert.deepEqual(
    files.events("approval").map(({ decision, answer, reason }) => [decision, answer, reason]),
    [[id, "gone", "shutting_down"]],
  );
  assert.equal(files.events("decision").at(-1)?.reason, "shutting_down");
  assert.equal(rig.calls.active, 0);
});

test("a stop kills the boxes that outlast its grace", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.runtime.answer = untilToldOrKilled().answer;
  const running = rig.read();
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  await rig.calls.stop(AbortSignal.abort());
  assert.deepEqual(await running.outcome, {
    outcome: "failed",
    message: "The tool was stopped, because the box is shutting down. What it did until then stays done.",
  });
  assert.equal(files.events("result").length, 1);
});

test("a session that another kind of client opened can't be used, and nothing is recorded of the attempt", async () => {
  using files = new BoxFiles();
  files.grant("notes", "read_file", "auto");
  await using rig = await Rig.open(files);
  await rig.read("a", { session: "mine", origin: "terminal" }).outcome;
  const before = files.records().length;
  assert.equal(await rig.read("a", { session: "mine", origin: "mcp" }).outcome, "foreign_session");
  assert.equal(files.records().length, before);
  assert.equal(rig.runtime.runs.length, 1);
});

test("below the low-space mark tools that change something are denied, reads and denials go on", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "auto");
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.isLowOnSpace = true;
  assert.deepEqual(await rig.write().outcome, { outcome: "denied", reason: "low_space" });
  assert.equal(((await rig.read().outcome) as { outcome: string }).outcome, "result");
  assert.deepEqual(await rig.send("nothing", {}).outcome, { outcome: "denied", reason: "no_grant" });
  rig.isLowOnSpace = false;
  assert.equal(((await rig.write().outcome) as { outcome: string }).outcome, "result");
  assert.deepEqual(
    files.events("decision").map(({ reason, run }) => [reason, run !== null]),
    [
      ["low_space", false],
      [null, true],
      ["no_grant", false],
      [null, true],
    ],
  );
});
