/** `brokerd serve --accept-break`, as the owner runs it. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { ask } from "../support/client.ts";
import { brokerOf, configOf, Daemon, type Ended } from "../support/daemon.ts";
import { BoxFiles } from "../support/rig.ts";

function read(files: BoxFiles, session: string, call = 1): BrokerRequest {
  const args = JSON.stringify({ path: files.at("notes/todo.md") });
  const body = {
    session: SessionId.parse(session),
    call: CallId.parse(call),
    turn: CallId.parse(call),
    tool: "read_file",
    arguments: args,
  };
  return { kind: "tool_request", body };
}

async function stop(daemon: Daemon): Promise<void> {
  daemon.kill("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
}

async function accept(files: BoxFiles): Promise<Ended> {
  await using daemon = new Daemon(["serve", "--config", configOf(files), "--accept-break"]);
  return await daemon.ended;
}

function logOf(files: BoxFiles): Map<string, string> {
  const names = readdirSync(files.at("audit")).filter((name) => name.endsWith(".jsonl"));
  return new Map(names.map((name) => [name, readFileSync(files.at(`audit/${name}`), "utf8")]));
}

/** A day of one conversation, whose only result somebody has changed since. */
async function writeBroken(files: BoxFiles): Promise<void> {
  files.grant("read", "read_file", "auto");
  {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    await ask(brokerOf(files), read(files, "old", 1));
    await stop(daemon);
  }
  for (const [name, text] of logOf(files)) {
    writeFileSync(files.at(`audit/${name}`), text.replace('"status":"failed"', '"status":"ok"'));
  }
}

test("a broken log is refused, accepted once on record, and goes on with what it knew taken for the worst", async () => {
  using files = new BoxFiles();
  await writeBroken(files);
  {
    await using daemon = Daemon.serve(files);
    const { code, stderr } = await daemon.ended;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^brokerd: the audit log is broken: "[0-9-]+\.jsonl" line 6 \(offset \d+\): expected prev [0-9a-f]{64}, found prev [0-9a-f]{64}; the last good record is seq 5; see docs\/runbook\.md#audit-broken\n$/u,
    );
  }
  const broken = logOf(files);
  {
    await using daemon = new Daemon(["serve", "--config", configOf(files), "--accept-break"]);
    assert.match(await daemon.ready, /audit head 8$/u);
    assert.match(
      daemon.stderr,
      /^brokerd: audit log: the break is accepted and recorded in seq 7: "[0-9-]+\.jsonl" line 6 .+#audit-break-accepted$/mu,
    );
    for (const session of ["old", "new"]) await ask(brokerOf(files), read(files, session, 2));
    await stop(daemon);
  }
  for (const [name, text] of broken) assert.ok(logOf(files).get(name)?.startsWith(text));
  const [accepted] = files.events("accepted_break");
  assert.deepEqual([accepted?.line, accepted?.last_good, accepted?.lines], [6, 5, 1]);
  assert.deepEqual(
    files.events("decision").map(({ session, before }) => [session, before.taint, before.untrusted]),
    [
      ["old", "public", false],
      ["old", "secret", true],
      ["new", "public", false],
    ],
  );

  const whole = logOf(files);
  const { code, stdout, stderr } = await accept(files);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(
    stderr,
    /^brokerd: the audit log isn't broken, start without --accept-break; see docs\/runbook\.md#audit-break-accepted\n$/u,
  );
  assert.deepEqual(logOf(files), whole);
  await using again = Daemon.serve(files);
  await again.ready;
  await stop(again);
});

test("where there is no log, there is nothing to accept, and none is made", async () => {
  using files = new BoxFiles();
  const { code } = await accept(files);
  assert.equal(code, 2);
  assert.ok(!readdirSync(files.path).includes("audit"));
});

test("a torn tail alone is no break to accept, and is left to the next start", async () => {
  using files = new BoxFiles();
  {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    await stop(daemon);
  }
  for (const [name, text] of logOf(files)) writeFileSync(files.at(`audit/${name}`), `${text}{"seq":`);
  const before = logOf(files);
  assert.equal((await accept(files)).code, 2);
  assert.deepEqual(logOf(files), before);
});

test("a log whose tail was cut off is refused, accepted once on record, and signed anew from there", async () => {
  using files = new BoxFiles();
  {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    await stop(daemon);
  }
  for (const [name, text] of logOf(files)) writeFileSync(files.at(`audit/${name}`), `${text.split("\n")[0]}\n`);
  const cut = logOf(files);
  {
    await using daemon = Daemon.serve(files);
    const { code, stderr } = await daemon.ended;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^brokerd: the audit log in "[^"]+" isn't the one that was signed: expected the 2 records of "newest\.json", found 1 records, so its tail was cut off; see docs\/runbook\.md#audit-cut\n$/u,
    );
  }
  assert.deepEqual(logOf(files), cut);
  {
    await using daemon = new Daemon(["serve", "--config", configOf(files), "--accept-break"]);
    await daemon.ready;
    assert.match(daemon.stderr, /^brokerd: accepted and recorded in seq 2: .+#audit-cut$/mu);
    await stop(daemon);
  }
  const [loss] = files.events("accepted_loss");
  assert.deepEqual([loss?.size, loss?.found], [2, 1]);
  await using again = Daemon.serve(files);
  await again.ready;
  await stop(again);
});
