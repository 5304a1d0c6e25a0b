import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { type AdminAnswer, type AdminRequest, Timestamp } from "@boxmaker/proto";
import { approveCommand, listApprovals, refuseCommand } from "../../src/approvals/approval-commands.ts";
import { askAdmin } from "../../src/box/ask-admin.ts";
import { findPlaces } from "../../src/box/places.ts";
import type { GrantsCommand } from "../../src/grants/grants-command.ts";
import { askBlock, DIGEST, EXPIRES } from "../support/asks.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";
import { listenAdmin } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
  readonly requests: readonly AdminRequest[];
}

const agrees = (): Promise<boolean> => Promise.resolve(true);

type Command = GrantsCommand & { readonly socket: string };

async function run(
  answer: (request: AdminRequest) => AdminAnswer | undefined,
  command: (at: Command) => Promise<number>,
): Promise<Ran> {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, answer);
  const out = memoryScreen();
  const err = memoryScreen();
  const places = findPlaces({ home: home.path }, {});
  const status = await command({ socket: home.admin, places, json: false, out: out.screen, err: err.screen });
  return { status, out: out.stream.text, err: err.stream.text, requests: admin.requests };
}

const GONE: AdminAnswer = {
  kind: "error",
  body: { code: "no_such_approval", detail: "gone; see docs/runbook.md#no-such-approval" },
};

function summary(approval: number): object {
  return { approval, session: "holidays", tool: "shell", bytes: 10, expires: EXPIRES };
}

function listOf(...approvals: readonly number[]): AdminAnswer {
  return { kind: "approval_list", body: { approvals: approvals.map(summary) } } as AdminAnswer;
}

test("approvals shows every waiting call whole, and leaves out what was answered meanwhile", async () => {
  const { status, out, err } = await run(
    (request) =>
      request.kind === "approvals"
        ? listOf(41, 42)
        : request.kind === "approval" && request.body.approval === 42
          ? GONE
          : askBlock(),
    (at) => listApprovals(at, false, { adminFlags: " --home /srv/box" }),
  );
  assert.deepEqual([status, err], [0, ""]);
  assert.match(
    out,
    /^approval 41: shell\n {2}command(.*\n)* {2}answer with: bxctl approve 41 --digest [0-9a-f]{64} --home \/srv\/box, or: bxctl refuse 41 --home \/srv\/box\n$/u,
  );
});

test("approvals --json is one line of JSON with the whole calls", async () => {
  const { out } = await run(
    (request) => (request.kind === "approvals" ? listOf(41) : askBlock()),
    (at) => listApprovals(at, true, { adminFlags: " --home /srv/box" }),
  );
  assert.deepEqual(JSON.parse(out), [askBlock().body]);
  assert.equal(out.indexOf("\n"), out.length - 1);
});

test("approvals says that nothing waits", async () => {
  const { status, out } = await run(
    () => listOf(),
    (at) => listApprovals(at, false, { adminFlags: " --home /srv/box" }),
  );
  assert.deepEqual([status, out], [0, "no call waits for an approval\n"]);
});

test("approve shows the call and approves that under its digest", async () => {
  for (const outcome of ["allowed", "ask"] as const) {
    const { status, out, err, requests } = await run(
      (request) => (request.kind === "approval" ? askBlock() : { kind: "approve_result", body: { outcome } }),
      (at) => approveCommand(at, "41", {}, agrees),
    );
    assert.deepEqual([status, err], [0, ""]);
    assert.match(out, /^approval 41: shell\n(.*\n)*approval 41: approved, it runs\n$/u);
    assert.deepEqual(requests[1], { kind: "approve", body: { approval: 41, digest: DIGEST } });
  }
});

test("approve asks once the whole call is shown, and without agreement nothing is approved", async () => {
  const out = memoryScreen();
  for (const isAgreed of [true, false]) {
    let asked = "";
    const { status, err, requests } = await run(
      (request) => (request.kind === "approval" ? askBlock() : { kind: "approve_result", body: { outcome: "ask" } }),
      (at) =>
        approveCommand({ ...at, out: out.screen }, "41", {}, (prompt, signal) => {
          assert.match(out.stream.text, new RegExp(`\\n {2}digest {6}${DIGEST}\\n$`, "u"));
          assert.ok(!signal.aborted);
          asked = prompt;
          return Promise.resolve(isAgreed);
        }),
    );
    assert.equal(asked, "let shell run? y/N: ");
    const kinds = requests.map(({ kind }) => kind);
    if (isAgreed) assert.deepEqual([status, err, kinds], [0, "", ["approval", "approve"]]);
    else assert.deepEqual([status, kinds], [1, ["approval"]]);
    if (!isAgreed) {
      const said = "not approved, nothing ran; it waits until it expires";
      assert.equal(err, `bxctl: approval 41: ${said}\n`);
    }
    out.stream.text = "";
  }
});

test("the question ends when the call expires", async () => {
  const { kind, body } = askBlock();
  const { status, requests } = await run(
    () => ({ kind, body: { ...body, expires: Timestamp.parse("2020-01-01T00:00:00.000Z") } }),
    (at) =>
      approveCommand(at, "41", {}, async (_, signal) => {
        if (!signal.aborted) await once(signal, "abort");
        return false;
      }),
  );
  assert.deepEqual([status, requests.length], [1, 1]);
});

test("approve without --digest is refused where nobody can be asked, before brokerd is", async () => {
  const { status, out, err, requests } = await run(
    () => askBlock(),
    (at) => approveCommand(at, "41", {}, undefined),
  );
  assert.deepEqual([status, out, requests], [2, "", []]);
  assert.match(err, /^bxctl: nobody can be asked here, where no terminal is: give --digest, .+\n$/u);
});

test("approve --digest approves that digest and no other", async () => {
  const digest = "d".repeat(64);
  const { status, err, requests } = await run(
    (request) => (request.kind === "approval" ? askBlock() : { kind: "approve_result", body: { outcome: "changed" } }),
    (at) => approveCommand(at, "41", { digest }, undefined),
  );
  assert.equal(status, 1);
  assert.equal(
    err,
    "bxctl: approval 41: not approved: what would run now is not what was shown; nothing ran; see docs/runbook.md#approval-changed\n",
  );
  assert.deepEqual(requests.slice(1), [{ kind: "approve", body: { approval: 41, digest } }]);
});

test("approve shows what the call has become when it changed", async () => {
  let looks = 0;
  const { status, out } = await run(
    (request) =>
      request.kind === "approval"
        ? askBlock({ grant: looks++ === 0 ? "old" : "new" })
        : { kind: "approve_result", body: { outcome: "changed" } },
    (at) => approveCommand(at, "41", {}, agrees),
  );
  assert.equal(status, 1);
  assert.match(out, /"old"(.*\n)*it would now be:\napproval 41: shell\n(.*\n)*.*"new"/u);
});

test("an approval that the re-decision denies is a failure with its reason", async () => {
  const { status, err } = await run(
    (request) =>
      request.kind === "approval" ? askBlock() : { kind: "approve_result", body: { outcome: "denied", reason: "expired" } },
    (at) => approveCommand(at, "41", {}, agrees),
  );
  assert.deepEqual([status, err], [1, "bxctl: approval 41: approved, but denied now: its grant has expired\n"]);
});

test("refuse carries the reason", async () => {
  for (const reason of ["not that folder", undefined]) {
    const { status, out, requests } = await run(
      () => ({ kind: "ok", body: {} }),
      (at) => refuseCommand(at, "41", reason, false),
    );
    assert.deepEqual([status, out], [0, "approval 41: refused, it doesn't run\n"]);
    assert.deepEqual(requests, [{ kind: "refuse", body: { approval: 41, reason: reason ?? null } }]);
  }
});

test("refuse --json is one line that says what came of it", async () => {
  for (const [answer, status, came] of [
    [{ kind: "ok", body: {} }, 0, "refused"],
    [GONE, 1, "failed"],
  ] as const) {
    const ran = await run(
      () => answer,
      (at) => refuseCommand(at, "41", "not\u202e that", true),
    );
    assert.equal(ran.status, status);
    assert.deepEqual(JSON.parse(ran.out), { approval: 41, answer: came, reason: "not\u202e that" });
    assert.equal(ran.out.indexOf("\n"), ran.out.length - 1);
    assert.equal(findUnsafe(ran.out), undefined);
    assert.match(ran.err, came === "failed" ? /^bxctl: approval 41: .+#no-such-approval\n$/u : /^$/u);
  }
});

test("what brokerd refuses is one escaped line and a failure", async () => {
  for (const detail of HOSTILE) {
    const refused: AdminAnswer = { kind: "error", body: { code: "internal", detail } };
    for (const command of [
      (at: Command) => listApprovals(at, false, { adminFlags: " --home /srv/box" }),
      (at: Command) => approveCommand(at, "41", {}, agrees),
      (at: Command) => refuseCommand(at, "41", undefined, false),
    ]) {
      const { status, out, err } = await run(() => refused, command);
      assert.deepEqual([status, out], [1, ""]);
      assert.match(err, /^bxctl: [^\n]*internal: [^\n]*\n$/u);
      assert.equal(findUnsafe(err), undefined);
    }
  }
});

test("an answer of another kind than the one due is a failure with a pointer", async () => {
  const { status, err } = await run(
    () => ({ kind: "ok", body: {} }),
    (at) => listApprovals(at, false, { adminFlags: " --home /srv/box" }),
  );
  assert.deepEqual(
    [status, err],
    [1, "bxctl: brokerd answered ok where approval_list was due; see docs/runbook.md#peer-unreadable\n"],
  );
});

test("ids, digests and reasons that aren't any are refused before brokerd is asked", async () => {
  for (const command of [
    ...["+41", " 41", "４１", "0", "007", "", "41 ", "4e1", "\u001b"].flatMap((id) => [
      (at: Command) => approveCommand(at, id, {}, agrees),
      (at: Command) => refuseCommand(at, id, undefined, false),
    ]),
    (at: Command) => approveCommand(at, "41", { digest: "D".repeat(64) }, undefined),
    (at: Command) => refuseCommand(at, "41", "x".repeat(1001), true),
  ]) {
    const { status, err, requests } = await run(() => GONE, command);
    assert.equal(status, 2);
    assert.match(err, /^bxctl: [^\n]+\n$/u);
    assert.equal(findUnsafe(err), undefined);
    assert.deepEqual(requests, []);
  }
});

test("a brokerd that doesn't answer in time is one line that says so", async () => {
  await using home = await tempHome();
  const passed = new AbortController();
  await using _admin = await listenAdmin(home.admin, () => {
    passed.abort();
    return undefined;
  });
  const reply = await askAdmin(home.admin, { kind: "status", body: {} }, "status_report", passed.signal);
  assert.ok(reply.kind === "failed");
  assert.match(
    reply.problem,
    /^brokerd didn't answer in time on socket ".*"; whether it acted is unknown; see docs\/runbook\.md#brokerd-away$/u,
  );
});

test("a brokerd that isn't there, or has left its socket behind, is one line that says so", async () => {
  await using home = await tempHome();
  const absent = await askAdmin(home.admin, { kind: "status", body: {} }, "status_report");
  assert.ok(absent.kind === "failed");
  assert.match(absent.problem, /^brokerd isn't running: there is no socket ".*"; see docs\/runbook\.md#brokerd-away$/u);
  const { writeFile, mkdir } = await import("node:fs/promises");
  await mkdir(`${home.path}/run/admin`, { recursive: true });
  await writeFile(home.admin, "");
  const refused = await askAdmin(home.admin, { kind: "status", body: {} }, "status_report");
  assert.ok(refused.kind === "failed");
  assert.match(
    refused.problem,
    /^brokerd isn't running, or isn't for this user: socket ".*" takes no connection; see docs\/runbook\.md#brokerd-away$/u,
  );
});
