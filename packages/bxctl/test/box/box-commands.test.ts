import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminAnswer, LoopAnswer, LoopRequest } from "@boxmaker/proto";
import { type BoxCommand, checkGrants, listSessions, showStatus } from "../../src/box/box-commands.ts";
import { findPlaces } from "../../src/box/places.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";
import { listenAdmin, ScriptedServer } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

interface Box {
  readonly admin?: unknown;
  readonly loop?: unknown;
}

async function run(box: Box, command: (at: BoxCommand) => Promise<number>, json = false) {
  await using home = await tempHome();
  await using stack = new AsyncDisposableStack();
  if (box.admin !== undefined) stack.use(await listenAdmin(home.admin, () => AdminAnswer.parse(box.admin)));
  if (box.loop !== undefined) {
    const answer = LoopAnswer.parse(box.loop);
    stack.use(
      await ScriptedServer.listen(home.loop, LoopRequest, LoopAnswer, (_request, connection) => connection.send(answer, true)),
    );
  }
  const out = memoryScreen();
  const err = memoryScreen();
  const status = await command({ places: findPlaces({ home: home.path }, {}), out: out.screen, err: err.screen, json });
  return { status, out: out.stream.text.replaceAll(home.path, "HOME"), err: err.stream.text.replaceAll(home.path, "HOME") };
}

const TIME = "2026-09-18T15:30:12.000Z";

function statusReport(changes: object = {}): object {
  const body = {
    version: "0.1.0",
    started: TIME,
    head: 7,
    pending: 1,
    runtime: "podman",
    grants: 3,
    grants_valid: true,
    audit: "open",
  };
  return { kind: "status_report", body: { ...body, ...changes } };
}

const SESSIONS = {
  kind: "session_list",
  body: {
    sessions: [
      { session: "b", turns: 1, busy: true, updated: "2026-09-19T00:00:00.000Z" },
      { session: "a", turns: 2, busy: false, updated: TIME },
    ],
  },
};

test("status says what both roles are doing", async () => {
  assert.deepEqual(await run({ admin: statusReport(), loop: SESSIONS }, showStatus), {
    status: 0,
    out: `brokerd   0.1.0, since ${TIME}, runtime podman
grants    3 in force
audit     open, 7 records
approvals 1 waiting: bxctl approvals --home HOME
loopd     2 sessions, 1 in a turn
`,
    err: "",
  });
});

test("status is a failure where nothing could run, and says why with a pointer", async () => {
  const invalid = await run({ admin: statusReport({ grants_valid: false }), loop: SESSIONS }, showStatus);
  assert.equal(invalid.status, 1);
  assert.match(invalid.out, /\ngrants {4}invalid: every call is denied; see docs\/runbook\.md#grants-invalid\n/u);
  const stopped = await run({ admin: statusReport({ audit: "stopped" }), loop: SESSIONS }, showStatus);
  assert.equal(stopped.status, 1);
  assert.match(stopped.out, /\naudit {5}stopped: every call is denied; see docs\/runbook\.md#audit-unavailable\n/u);
});

test("status tells of the role that is away, and of the other one all the same", async () => {
  const { status, out, err } = await run({ loop: SESSIONS }, showStatus);
  assert.deepEqual([status, out], [1, "loopd     2 sessions, 1 in a turn\n"]);
  assert.equal(
    err,
    'bxctl: brokerd isn\'t running: there is no socket "HOME/run/admin/admin.sock"; see docs/runbook.md#brokerd-away\n',
  );
  const other = await run({ admin: statusReport() }, showStatus);
  assert.equal(other.status, 1);
  assert.match(other.err, /^bxctl: loopd isn't running: .*#loopd-away\n$/u);
});

test("status --json has both, null for one that is away", async () => {
  const { out } = await run({ admin: statusReport() }, showStatus, true);
  assert.deepEqual(JSON.parse(out), { brokerd: (statusReport() as { body: object }).body, loopd: null });
});

test("grants check counts the grants, or names every fault with its place", async () => {
  const ok = await run({ admin: { kind: "grants_report", body: { grants: 1, problems: [] } } }, checkGrants);
  assert.deepEqual(ok, { status: 0, out: "grants: ok, 1 grant\n", err: "" });
  const problems = [
    { file: "a.toml", line: 3, problem: "unknown key" },
    { file: "b.toml", line: 0, problem: "not UTF-8" },
  ];
  const faulty = { kind: "grants_report", body: { grants: 0, problems } };
  assert.deepEqual(await run({ admin: faulty }, checkGrants), {
    status: 1,
    out: "a.toml:3: unknown key\nb.toml: not UTF-8\n",
    err: "bxctl: grants: 2 faults: every call is denied until the files are right; see docs/runbook.md#grants-invalid\n",
  });
  const json = await run({ admin: faulty }, checkGrants, true);
  assert.deepEqual(JSON.parse(json.out), { grants: 0, problems });
  assert.equal(json.status, 1);
});

test("sessions lists the conversations, the last used one last", async () => {
  const { status, out } = await run({ loop: SESSIONS }, listSessions);
  assert.deepEqual([status, out], [0, `${TIME}  a  2 turns\n2026-09-19T00:00:00.000Z  b  1 turn, in a turn now\n`]);
  const json = await run({ loop: SESSIONS }, listSessions, true);
  assert.deepEqual(JSON.parse(json.out), SESSIONS.body.sessions.toReversed());
  const none = await run({ loop: { kind: "session_list", body: { sessions: [] } } }, listSessions);
  assert.equal(none.out, "no session yet\n");
});

test("no text of brokerd or loopd steers a terminal, in text or in JSON", async () => {
  const hostile = HOSTILE.join("");
  const problems = [{ file: hostile, line: 1, problem: hostile }];
  for (const json of [false, true]) {
    const shown = [
      await run({ admin: statusReport({ version: hostile }), loop: SESSIONS }, showStatus, json),
      await run({ admin: { kind: "grants_report", body: { grants: 0, problems } } }, checkGrants, json),
      await run({ loop: { kind: "error", body: { code: "internal", detail: hostile } } }, listSessions, json),
      await run({ loop: { kind: "ok", body: {} } }, listSessions, json),
    ];
    for (const { out, err } of shown) assert.equal(findUnsafe(out + err), undefined);
    assert.equal(shown[2]?.status, 1);
    assert.match(shown[3]?.err ?? "", /#peer-unreadable\n$/u);
  }
});

test("the home is --home, else $BOXMAKER_HOME, else the default; relative ones are resolved; sockets can be elsewhere", () => {
  assert.equal(findPlaces({}, {}).home, "/var/lib/boxmaker");
  assert.equal(findPlaces({}, { BOXMAKER_HOME: "" }).home, "/var/lib/boxmaker");
  assert.deepEqual(findPlaces({}, { BOXMAKER_HOME: "/srv/box" }), {
    home: "/srv/box",
    audit: "/srv/box/audit",
    loopSocket: "/srv/box/run/loop/loop.sock",
    adminSocket: "/srv/box/run/admin/admin.sock",
    adminFlags: " --home /srv/box",
    homeFlags: " --home /srv/box",
  });
  assert.equal(findPlaces({ home: "box" }, { BOXMAKER_HOME: "/srv/box" }).home, `${process.cwd()}/box`);
  const { loopSocket, adminSocket } = findPlaces({ socket: "l.sock", adminSocket: "/a.sock" }, {});
  assert.deepEqual([loopSocket, adminSocket], [`${process.cwd()}/l.sock`, "/a.sock"]);
});

test("the flags that lead another bxctl to the same brokerd can be pasted into a shell, and nothing in them reaches the terminal raw", () => {
  assert.equal(findPlaces({}, {}).adminFlags, "");
  assert.equal(findPlaces({ home: "/srv/my box's" }, {}).adminFlags, " --home '/srv/my box'\\''s'");
  assert.equal(
    findPlaces({ home: "/srv/box", adminSocket: "/tmp/x/admin.sock" }, {}).adminFlags,
    " --admin-socket /tmp/x/admin.sock",
  );
  assert.equal(findPlaces({ home: "/srv/box", adminSocket: "/srv/box/run/admin/admin.sock" }, {}).adminFlags, " --home /srv/box");
  assert.equal(findUnsafe(findPlaces({ home: "/srv/\u001b[2J" }, {}).adminFlags), undefined);
});
