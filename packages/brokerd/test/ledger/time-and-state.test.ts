import assert from "node:assert/strict";
import { test } from "node:test";
import { completeGrant, decide, GrantFile } from "@boxmaker/policy";
import { AuditSeq, CallId, SessionId, sha256, timestampFromMillis } from "@boxmaker/proto";
import { SessionStates } from "../../src/ledger/session-states.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { DONE, untilToldOrKilled } from "../fakes/recording-runtime.ts";
import { BoxFiles, Rig, settle } from "../support/rig.ts";

const HOUR = 3_600_000;
const SHA = sha256("the grant");
const SEQ = AuditSeq.parse(1);

test("a grant that has expired stays so when the clock is set back, and through a restart", async () => {
  using files = new BoxFiles();
  const clock = new FakeClock();
  files.grant("read", "read_file", "auto", `expires = ${new Date(clock.now() + HOUR).toISOString()}`);
  {
    await using rig = await Rig.open(files, { clock });
    assert.equal(((await rig.read().outcome) as { outcome: string }).outcome, "result");
    clock.set(clock.now() + HOUR);
    assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "expired" });
    clock.set(clock.now() - 2 * HOUR);
    assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "expired" });
  }
  await using rig = await Rig.open(files, { clock });
  assert.deepEqual(await rig.read("todo.md", { call: 9 }).outcome, { outcome: "denied", reason: "expired" });
  const times = files.events("decision").map(({ now }) => now);
  assert.deepEqual([...times].sort(), times);
});

test("the use that is spent is the one of the grant that pays, which needn't be the one that is named", async () => {
  using files = new BoxFiles();
  // Both permit the call; the narrower one is named, and only the other counts.
  files.grant("narrow", "read_file", "auto", "uses = 1", [files.at("notes/a")]);
  files.grant("wide", "read_file", "auto", "uses = 2", [files.at("notes")]);
  await using rig = await Rig.open(files);
  for (let round = 0; round < 4; round++) await rig.read("a").outcome;
  const decisions = files.events("decision");
  const spent = decisions.map(({ spends }) => spends);
  assert.equal(spent.filter((grant) => grant === "narrow").length, 1);
  assert.equal(spent.filter((grant) => grant === "wide").length, 2);
  assert.deepEqual([decisions[3]?.outcome, decisions[3]?.reason, spent[3]], ["denied", "uses_spent", null]);
  assert.equal(rig.states.usesSpent("narrow"), 1);
  assert.equal(rig.states.usesSpent("wide"), 2);
});

test("of two calls of the same moment only one spends the last use", async () => {
  using files = new BoxFiles();
  files.grant("once", "read_file", "auto", "uses = 1");
  await using rig = await Rig.open(files);
  const sent = Array.from({ length: 8 }, (_, index) => rig.read("a", { session: `s-${index}` }).outcome);
  const outcomes = (await Promise.all(sent)).map((outcome) => (outcome as { outcome: string }).outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "result").length, 1);
  assert.equal(rig.runtime.runs.length, 1);
});

test("boxes of two sessions that share a mount, one of them writing, never run at once; a session doesn't wait for itself", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", 'if_untrusted = "auto"', [files.at("notes")]);
  files.grant("read", "read_file", "auto", "", [files.at("notes")]);
  await using rig = await Rig.open(files);
  const writers = new Set<string>();
  let most = 0;
  rig.runtime.answer = async ({ session, request }) => {
    if (request.tool === "shell") writers.add(session);
    most = Math.max(most, writers.size);
    await new Promise(setImmediate);
    if (request.tool === "shell") writers.delete(session);
    else
      assert.deepEqual(
        [...writers].filter((other) => other !== session),
        [],
      );
    return { kind: "done", status: "ok", content: "", truncated: false };
  };
  const sent = Array.from({ length: 24 }, (_, index) => {
    const session = `s-${index % 4}`;
    return index % 3 === 0 ? rig.read("a", { session }) : rig.send("shell", { command: "true" }, { session });
  });
  for (const { outcome } of sent) assert.equal(((await outcome) as { outcome: string }).outcome, "result");
  assert.equal(most, 1);
  assert.equal(rig.ledger.running, 0);
});

test("a box of the same session isn't handed what the session has seen since it began, which it could carry to a lower label", async () => {
  using files = new BoxFiles();
  files.grant("one", "shell", "auto", 'max_taint = "secret"', [files.at("work"), files.at("notes")]);
  files.grant("other", "shell", "auto", 'max_taint = "secret"\nlabel = "secret"', [files.at("keys"), files.at("work")]);
  files.grant("apart", "shell", "auto", 'max_taint = "secret"\nlabel = "secret"', [files.at("elsewhere")]);
  files.grant("write", "write_file", "auto", 'max_taint = "secret"', [files.at("work")]);
  await using rig = await Rig.open(files);
  const box = untilToldOrKilled();
  rig.runtime.answer = box.answer;
  const copying = rig.send("shell", { command: "cp -r work notes", cwd: files.at("notes") }, { call: 1 });
  while (rig.runtime.running === 0) await settle();
  // As much as it has seen may be written where it reads.
  rig.runtime.answer = () => DONE;
  await rig.send("write_file", { path: files.at("work/a"), content: "x" }, { call: 2 }).outcome;
  // What shares no path with it may raise the session.
  await rig.send("shell", { command: "true", cwd: files.at("elsewhere") }, { call: 3 }).outcome;
  const handing = [
    rig.send("shell", { command: "cp -r keys work", cwd: files.at("keys") }, { call: 4 }),
    rig.send("write_file", { path: files.at("work/a"), content: "secret" }, { call: 5 }),
  ];
  await settle();
  assert.equal(files.events("decision").length, 3);
  box.end();
  await copying.outcome;
  for (const { outcome } of handing) assert.equal(((await outcome) as { outcome: string }).outcome, "result");
  const events = files.records().map(({ event }) => event);
  const ended = events.findIndex((event) => event.kind === "result" && event.call === 1);
  const begun = events.flatMap((event, index) => (event.kind === "decision" && event.call > 3 ? [index] : []));
  assert.ok(begun.length === 2 && begun.every((index) => index > ended));
});

test("a call that waits for another session's box is judged when that has ended, by the labels that it left", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", 'label = "secret"\nmax_taint = "secret"', [files.at("notes")]);
  files.grant("read", "read_file", "auto", 'label = "public"', [files.at("notes")]);
  await using rig = await Rig.open(files);
  const box = untilToldOrKilled();
  rig.runtime.answer = box.answer;
  const writing = rig.send("shell", { command: "true" }, { session: "one" });
  while (rig.runtime.running === 0) await settle();
  const reading = rig.read("a", { session: "two" });
  await settle();
  assert.equal(files.events("decision").length, 1);
  box.end();
  await writing.outcome;
  const outcome = await reading.outcome;
  assert.deepEqual(typeof outcome === "object" && outcome.outcome === "result" && outcome.class, "secret");
});

test("an approved call waits for a box that shares its mount, and its requester may leave meanwhile", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", "", [files.at("notes")]);
  files.grant("write", "write_file", "ask", "", [files.at("notes")]);
  await using rig = await Rig.open(files);
  const box = untilToldOrKilled();
  const asked = rig.write("a", { session: "two" });
  const id = await asked.pending;
  rig.runtime.answer = box.answer;
  const writing = rig.send("shell", { command: "true" }, { session: "one" });
  while (rig.runtime.running === 0) await settle();
  const approving = rig.approve(id);
  await settle();
  assert.equal(files.events("approval").length, 0);
  asked.leave();
  await asked.outcome;
  box.end();
  await writing.outcome;
  assert.deepEqual((await approving).kind, "error");
  assert.deepEqual(
    files.events("approval").map(({ answer }) => answer),
    ["gone"],
  );
  assert.equal(rig.runtime.runs.length, 1);
});

test("a requester that leaves while its call waits for another box is denied on record and leaves nothing behind", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", "", [files.at("notes")]);
  await using rig = await Rig.open(files);
  const box = untilToldOrKilled();
  rig.runtime.answer = box.answer;
  const first = rig.send("shell", { command: "true" }, { session: "one" });
  while (rig.runtime.running === 0) await settle();
  const second = rig.send("shell", { command: "true" }, { session: "two" });
  await settle();
  second.leave();
  assert.deepEqual(await second.outcome, { outcome: "denied", reason: "requester_gone" });
  const gone = files.events("decision").at(-1);
  assert.deepEqual([gone?.session, gone?.outcome, gone?.reason, gone?.raises], ["two", "denied", "requester_gone", null]);
  box.end();
  await first.outcome;
  assert.equal(rig.runtime.runs.length, 1);
  assert.equal(rig.ledger.running, 0);
});

test("a stop ends the wait for another box as shutting_down", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", "", [files.at("notes")]);
  await using rig = await Rig.open(files);
  rig.runtime.answer = untilToldOrKilled().answer;
  const first = rig.send("shell", { command: "true" }, { session: "one" });
  while (rig.runtime.running === 0) await settle();
  const second = rig.send("shell", { command: "true" }, { session: "two" });
  await settle();
  await rig.calls.stop(AbortSignal.abort());
  assert.deepEqual(await second.outcome, { outcome: "denied", reason: "shutting_down" });
  await first.outcome;
  assert.equal(rig.runtime.runs.length, 1);
});

test("the paths that the fold labels are those that policy says are written", () => {
  const box = { runtime: "bubblewrap", image: null } as const;
  const now = timestampFromMillis(Date.UTC(2026, 0, 1));
  const session = SessionId.parse("s");
  const before = { taint: "public", untrusted: false } as const;
  const calls = [
    ["read_file", { path: "/srv/notes/a" }],
    ["write_file", { path: "/srv/notes/a", content: "x".repeat(5000) }],
    ["write_file", { path: `/srv/notes/${"deep/".repeat(300)}a`, content: "" }],
    ["shell", { command: "true" }],
    ["shell", { command: "true", cwd: "/srv/work" }],
    ["http_fetch", { url: "https://example.com/" }],
  ] as const;
  for (const [tool, values] of calls) {
    const constraints = tool === "http_fetch" ? { hosts: ["example.com"] } : { paths: ["/srv/notes", "/srv/work"] };
    const grant = completeGrant(GrantFile.parse({ id: "g", tool, mode: "auto", constraints }));
    const text = "the grant";
    const request = { session, call: CallId.parse(1), tool, argumentsText: JSON.stringify(values) };
    const state = { label: before, origin: "terminal", ceiling: "secret", usesSpent: () => 0, pathLabels: [] } as const;
    const loaded = { grant, file: "g.toml", sha256: SHA, text };
    const verdict = decide(request, { kind: "valid", grants: [loaded], files: [loaded] }, state, now, box);
    assert.equal(verdict.kind, "allowed");
    if (verdict.kind !== "allowed") return;
    const states = new SessionStates();
    const form = verdict.record.arguments;
    assert.equal(form.form, "typed");
    if (form.form !== "typed") return;
    const path = "path" in form.call.arguments ? { path: form.call.arguments.path } : {};
    const event = {
      kind: "decision",
      ...verdict.record,
      spends: verdict.uses,
      arguments: { form: "typed", values: path },
    } as const;
    states.apply({ seq: SEQ, time: now, prev: SHA, event });
    assert.deepEqual(
      states.pathLabels.map((label) => label.path),
      verdict.writes,
      tool,
    );
    for (const { label } of states.pathLabels) assert.deepEqual(label, verdict.decision.after);
  }
});
