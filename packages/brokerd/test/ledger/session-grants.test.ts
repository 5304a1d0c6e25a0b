/** Grants of one session: what they permit, how they end, and that nothing is decided by one that has ended. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { replay } from "@boxmaker/policy/analysis";
import { setFromTexts } from "@boxmaker/policy/grants";
import { SessionId, sha256 } from "@boxmaker/proto";
import { SESSION_GRANT_MS } from "../../src/ledger/owner-acts.ts";
import { SessionStates } from "../../src/ledger/session-states.ts";
import { ask, Client } from "../support/client.ts";
import { BoxFiles, type GivenGrant, Rig, settle } from "../support/rig.ts";
import { call, serve } from "../support/served.ts";

async function given(grant: GivenGrant): Promise<{ readonly id: string; readonly text: string }> {
  const allowing = await grant.allowing;
  if (allowing.kind !== "given") assert.fail(JSON.stringify(allowing));
  return { id: allowing.held.loaded.grant.id, text: allowing.held.loaded.text };
}

async function problems(rig: Rig, ...asked: Parameters<Rig["allow"]>): Promise<readonly string[]> {
  const allowing = await rig.allow(...asked).allowing;
  return allowing.kind === "invalid" ? allowing.problems.map(({ file, line, problem }) => `${file}:${line}: ${problem}`) : [];
}

const NO_GRANT = { outcome: "denied", reason: "no_grant" };

test("a grant of a session permits what it says to that session and to no other", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  assert.deepEqual(await rig.read().outcome, NO_GRANT);
  const { id, text } = await given(rig.allow("read_file", files.at("notes")));
  const result = await rig.read().outcome;
  assert.equal(typeof result === "object" && result.outcome, "result");
  assert.deepEqual(await rig.read("todo.md", { session: "other" }).outcome, NO_GRANT);
  assert.deepEqual(await rig.write().outcome, NO_GRANT);
  const decision = files.events("decision")[1];
  assert.deepEqual([decision?.grant, decision?.grant_sha256], ["session-1", sha256(text)]);
  assert.deepEqual(files.events("session_grant"), [{ kind: "session_grant", session: "chat-1", grant: id, sha256: sha256(text) }]);
  assert.equal(
    text,
    `id = "session-1"\ntool = "read_file"\nmode = "auto"\nsession = "chat-1"\nexpires = 2026-11-29T13:00:00.000Z\n\n[constraints]\npaths = ["${files.at("notes")}"]\n`,
  );
});

test("a deny of the owner's files holds against a grant of a session", async () => {
  using files = new BoxFiles();
  files.grant("no", "read_file", "deny");
  await using rig = await Rig.open(files);
  await given(rig.allow("read_file", files.at("notes")));
  assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "denied_by_grant" });
});

test("a grant of a session is held to every rule that a file is held to, and refused with that rule's message", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", "", [files.at("work")]);
  mkdirSync(files.at("work/inner"));
  symlinkSync(files.at("notes"), files.at("link"));
  await using rig = await Rig.open(files);
  const at = "session grant session-";
  const own = files.at("audit");
  for (const [tool, scope, problem] of [
    ["read_file", own, /constraints\.paths: ".*" is the box's own ".*", which no grant may name/u],
    ["read_file", `${own}/blobs`, /lies in the box's own/u],
    ["shell", files.path, /holds the box's own/u],
    ["read_file", files.at("link/a"), /leads through the link/u],
    ["read_file", files.at("work/inner"), /which shell\.toml lets a box write and put links in/u],
    ["shell", "/proc/x", /a box has its own "\/proc"/u],
    ["read_file", `${files.at("notes")}:x`, /can't be mounted: it contains ':' or ','/u],
    ["read_file", "relative", /paths/u],
    ["read_file", "/a/../b", /paths/u],
    ["read_file", '/a"]\nmode = "x', /paths/u],
    ["read_file", "/a\u007f", /paths/u],
    ["http_fetch", "https://example.com/", /host name/u],
    ["http_fetch", "127.0.0.1", /host name/u],
    ["http_fetch", "EXAMPLE.com", /expected "example\.com"/u],
  ] as const) {
    const found = await problems(rig, tool, scope);
    assert.match(found.join("\n"), problem, scope);
    assert.ok(found[0]?.startsWith(at) === true, scope);
  }
  assert.deepEqual(files.events("session_grant"), []);
  assert.deepEqual(await rig.read().outcome, NO_GRANT);
});

test("a grant of a session may not lie inside what a grant of another session lets a box write, nor the other way round", async () => {
  using files = new BoxFiles();
  mkdirSync(files.at("work/inner"));
  await using rig = await Rig.open(files);
  const shell = rig.allow("shell", files.at("work"), { session: "other" });
  await given(shell);
  const inner = files.at("work/inner");
  assert.match(
    (await problems(rig, "read_file", inner)).join("\n"),
    /which session grant session-1 lets a box write and put links in/u,
  );
  shell.leave();
  await given(rig.allow("read_file", inner));
  assert.match(
    (await problems(rig, "shell", files.at("work"), { session: "other" })).join("\n"),
    /lets a box write and put links in/u,
  );
  await given(rig.allow("shell", files.at("notes"), { session: "other" }));
});

test("nobody is refused for another session's grant that doesn't fit the files any more: that one ends", async () => {
  using files = new BoxFiles();
  mkdirSync(files.at("notes/inner"));
  await using rig = await Rig.open(files);
  const stale = await rig.allow("read_file", files.at("notes/inner"), { session: "other" }).allowing;
  assert.ok(stale.kind === "given");
  files.grant("write", "write_file", "auto");
  await given(rig.allow("read_file", files.at("work")));
  assert.equal(await stale.held.ended, "invalid");
});

test("T6 holds while sessions have grants of their own: each decision is taken again by the grants of its session", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto", "", [files.at("work")]);
  await using rig = await Rig.open(files);
  await given(rig.allow("write_file", files.at("notes"), { session: "one" }));
  await given(rig.allow("read_file", files.at("notes"), { session: "two" }));
  for (const session of ["one", "two", "three"]) {
    await rig.read("a", { session, call: 1 }).outcome;
    await rig.write("a", { session, call: 2 }).outcome;
  }
  const asked: string[] = [];
  const kept = (kind: string, hash: string): string => readFileSync(files.at(`audit/${kind}/${hash}`), "utf8");
  const { decided, changed, skipped } = replay(files.records(), {
    textOf: (hash) => kept("blobs", hash),
    setOf: (listed) => {
      asked.push(listed.map(({ file }) => file).join(" "));
      return setFromTexts(
        listed.map(({ file, sha256: hash }) => ({ file, text: kept("grants", hash) })),
        [],
      );
    },
  });
  assert.deepEqual([decided, changed, skipped], [6, [], []]);
  assert.deepEqual(asked.toSorted(), ["read.toml", "read.toml session grant session-1", "read.toml session grant session-2"]);
});

test("while the owner's files are invalid there is no grant of a session, and one that is in force permits nothing", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  await given(rig.allow("read_file", files.at("notes")));
  files.grant("bad", "read_file", "maybe");
  assert.match((await problems(rig, "read_file", files.at("work"))).join("\n"), /bad\.toml:3: mode/u);
  assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "grants_invalid" });
  files.removeGrant("bad");
  const result = await rig.read().outcome;
  assert.equal(typeof result === "object" && result.outcome, "result");
});

test("a grant of a session ends when the owner's files have changed so that it doesn't fit them", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  mkdirSync(files.at("notes/inner"));
  const held = await rig.allow("read_file", files.at("notes/inner")).allowing;
  const other = await rig.allow("read_file", files.at("work")).allowing;
  assert.ok(held.kind === "given" && other.kind === "given");
  files.grant("write", "write_file", "auto");
  assert.deepEqual(await rig.read("inner/a").outcome, NO_GRANT);
  assert.equal(await held.held.ended, "invalid");
  assert.deepEqual(files.events("session_grant_ended"), [{ kind: "session_grant_ended", grant: "session-1", reason: "invalid" }]);
  const result = await rig.send("read_file", { path: files.at("work/a") }).outcome;
  assert.equal(typeof result === "object" && result.outcome, "result");
});

test("no id is used twice: not by another life of brokerd, and not where a file has it", async () => {
  using files = new BoxFiles();
  files.grant("session-2", "read_file", "deny", "", [files.at("work")]);
  {
    await using rig = await Rig.open(files);
    const first = rig.allow("read_file", files.at("notes"));
    assert.equal((await given(first)).id, "session-1");
    first.leave();
    assert.equal((await given(rig.allow("read_file", files.at("notes")))).id, "session-3");
  }
  await using rig = await Rig.open(files);
  assert.equal((await given(rig.allow("read_file", files.at("notes")))).id, "session-4");
});

test("its uses are spent by the calls that it lets run, and the last one ends it", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  const allowing = await rig.allow("read_file", files.at("notes"), { uses: 2 }).allowing;
  assert.ok(allowing.kind === "given");
  for (let use = 0; use < 2; use++) {
    const result = await rig.read().outcome;
    assert.equal(typeof result === "object" && result.outcome, "result");
  }
  assert.equal(await allowing.held.ended, "spent");
  assert.deepEqual(await rig.read().outcome, NO_GRANT);
  assert.deepEqual(
    files.records().map(({ event }) => event.kind),
    [
      "grants_changed",
      "session_grant",
      "session_opened",
      "decision",
      "result",
      "decision",
      "session_grant_ended",
      "result",
      "decision",
    ],
  );
});

test("a use that an approval spends ends it, too", async () => {
  using files = new BoxFiles();
  files.grant("ask", "write_file", "ask", "", [files.at("notes")]);
  await using rig = await Rig.open(files, { opening: { taint: "public", untrusted: true } });
  const allowing = await rig.allow("write_file", files.at("notes"), { uses: 1 }).allowing;
  assert.ok(allowing.kind === "given");
  files.removeGrant("ask");
  // A session that has read a stranger's words is asked, whatever the grant would let run.
  const sent = rig.write();
  const approved = await rig.approve(await sent.pending);
  assert.deepEqual(approved, { kind: "approve_result", body: { outcome: "ask" } });
  assert.equal(await allowing.held.ended, "spent");
});

test("an ask that only a grant of a session permits can't be approved once that has ended", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files, { opening: { taint: "public", untrusted: true } });
  const grant = rig.allow("write_file", files.at("notes"));
  await given(grant);
  const sent = rig.write();
  const id = await sent.pending;
  grant.leave();
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "denied", reason: "no_grant" } });
  assert.deepEqual(await sent.outcome, NO_GRANT);
  assert.equal(rig.runtime.runs.length, 0);
});

test("who has left while a grant is being made has none", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  const grant = rig.allow("read_file", files.at("notes"));
  grant.leave();
  assert.deepEqual(await grant.allowing, { kind: "left" });
  assert.deepEqual(files.events("session_grant"), []);
});

test("a grant whose record can't be written isn't in force, and the ledger stops", async () => {
  for (const fault of ["throw", "reject"] as const) {
    using files = new BoxFiles();
    await using rig = await Rig.open(files);
    rig.log.fault = ({ kind }) => (kind === "session_grant" ? fault : undefined);
    assert.deepEqual(await rig.allow("read_file", files.at("notes")).allowing, { kind: "unrecorded" });
    assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "audit_unavailable" });
    assert.equal(rig.runtime.runs.length, 0);
  }
});

test("a session has 16 grants of its own at most", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  const grants = [];
  for (let number = 0; number < 16; number++) grants.push(await given(rig.allow("read_file", files.at("notes"))));
  assert.deepEqual(await rig.allow("read_file", files.at("notes")).allowing, { kind: "too_many" });
  await given(rig.allow("read_file", files.at("notes"), { session: "other" }));
});

test("a start has on record which places no grant may name, without which nothing can be decided again", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  await rig.ledger.begin("0.1.0", sha256(""));
  const [first] = files.records();
  assert.ok(first?.event.kind === "started");
  const own = ["audit", "grants", "labels.toml", "tools.toml"].map((name) => files.at(name));
  assert.deepEqual(first.event.reserved.toSorted(), own.toSorted());
});

test("a restart ends the grants of all sessions", async () => {
  using files = new BoxFiles();
  {
    await using rig = await Rig.open(files);
    await given(rig.allow("read_file", files.at("notes")));
    assert.equal(rig.states.sessionGrants.length, 1);
  }
  await using rig = await Rig.open(files);
  await rig.ledger.begin("0.1.0", sha256(""));
  assert.deepEqual(rig.states.sessionGrants, []);
  assert.deepEqual(await rig.read().outcome, NO_GRANT);
});

test("a connection that closes while decisions are being recorded: each is by the grant before its end, or without it behind", async () => {
  for (let round = 0; round < 24; round++) {
    using files = new BoxFiles();
    await using rig = await Rig.open(files);
    const grant = rig.allow("read_file", files.at("notes"), { uses: 40 });
    await given(grant);
    const sent = Array.from({ length: 6 }, () => rig.read());
    for (let turn = 0; turn < round % 12; turn++) await (round % 2 === 0 ? new Promise(setImmediate) : Promise.resolve());
    grant.leave();
    const late = rig.read();
    await Promise.all([...sent, late].map(({ outcome }) => outcome));
    await settle();
    let isInForce = false;
    for (const { event } of files.records()) {
      if (event.kind === "session_grant") isInForce = true;
      if (event.kind === "session_grant_ended") isInForce = false;
      if (event.kind === "decision") assert.equal(event.outcome, isInForce ? "allowed" : "denied");
    }
    assert.equal(files.events("session_grant_ended").length, 1);
    assert.deepEqual(await late.outcome, NO_GRANT);
    const folded = new SessionStates();
    for (const record of files.records()) folded.apply(record);
    assert.deepEqual(folded.sessionGrants, rig.states.sessionGrants);
  }
});

const ALLOW = (scope: string, uses: number | null = null) =>
  ({ kind: "allow", body: { session: SessionId.parse("chat-1"), tool: "read_file", scope, uses } }) as const;

test("on admin.sock a grant is in force from its answer until the connection closes, which is recorded", async () => {
  await using served = await serve();
  const { files, rig } = served;
  const holder = await Client.request(served.admin, ALLOW(files.at("work")));
  const answer = await holder.next();
  assert.equal(answer?.final, false);
  assert.ok(answer?.message.kind === "allowed");
  const { grant, text, expires } = answer.message.body;
  assert.deepEqual([grant, expires], ["session-1", "2026-11-29T13:00:00.000Z"]);
  assert.ok(text.includes(`paths = ["${files.at("work")}"]`));
  const request = call(served, "read_file");
  await ask(served.broker, request);
  const report = await ask(served.admin, { kind: "session", body: { session: SessionId.parse("chat-1") } });
  assert.ok(report.kind === "session_report");
  assert.deepEqual(report.body.grants, [{ grant, text }]);
  assert.equal(report.body.origin, "terminal");
  holder[Symbol.dispose]();
  while (rig.states.sessionGrants.length > 0) await new Promise(setImmediate);
  await settle();
  assert.ok(rig.lines.some((line) => line.includes("session-grant-ended grant=session-1 reason=closed")));
});

test("whoever holds a grant is told how it ended: by its uses, by time, and when brokerd stops", async () => {
  await using served = await serve();
  const { files, rig } = served;
  using spent = await Client.request(served.admin, ALLOW(files.at("work"), 1));
  using expired = await Client.request(served.admin, ALLOW(files.at("work/other")));
  await Promise.all([spent.next(), expired.next()]);
  const path = files.at("work/a");
  await ask(served.broker, {
    ...call(served, "read_file"),
    body: { ...call(served, "read_file").body, arguments: JSON.stringify({ path }) },
  });
  assert.deepEqual(await spent.final(), { kind: "allow_ended", body: { grant: "session-1", reason: "spent" } });
  rig.clock.advance(SESSION_GRANT_MS - 1);
  await settle();
  assert.equal(rig.states.sessionGrants.length, 1);
  rig.clock.advance(1);
  assert.deepEqual(await expired.final(), { kind: "allow_ended", body: { grant: "session-2", reason: "expired" } });
  using stopped = await Client.request(served.admin, ALLOW(files.at("work")));
  await stopped.next();
  await Promise.all([
    served.stop(),
    stopped.final().then((end) => assert.deepEqual(end.body, { grant: "session-3", reason: "stopped" })),
  ]);
});

test("a refused grant is answered with its faults, and the broker's sockets give none", async () => {
  await using served = await serve();
  const report = await ask(served.admin, ALLOW(served.files.at("audit")));
  assert.ok(report.kind === "grants_report");
  assert.equal(report.body.problems[0]?.file, "session grant session-1");
  for (const socket of [served.broker, served.mcp]) {
    const refused = await ask(socket, ALLOW(served.files.at("work")));
    assert.ok(refused.kind === "error");
    assert.equal(refused.body.code, "forbidden");
  }
});
