import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminAnswer, LoopAnswer, LoopRequest } from "@boxmaker/proto";
import { type BoxCommand, checkGrants, listSessions } from "../../src/box/box-commands.ts";
import { findPlaces } from "../../src/box/places.ts";
import { showMetrics, showStatus } from "../../src/box/show-status.ts";
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

/** As far as the tests look into it. */
interface OtlpLine {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: readonly object[] };
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[];
  }[];
}

const TIME = "2026-09-18T15:30:12.000Z";

function statusReport(changes: object = {}): object {
  const body = {
    version: "0.1.0",
    started: TIME,
    uptime_ms: 90_061_000,
    head: 7,
    pending: 1,
    sessions: 4,
    boxes: 1,
    connections: 2,
    memory_bytes: 104_857_600,
    runtime: "podman",
    grants: 3,
    grants_valid: true,
    audit: "open",
    low_space: false,
    calls: {
      results: 12,
      failed: 1,
      denied: [
        { reason: "taint", count: 1 },
        { reason: "no_grant", count: 3 },
      ],
    },
    errors: 0,
    last_error: null,
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
    out: `brokerd   0.1.0, since ${TIME} (1 d 1 h), runtime podman
grants    3 in force
audit     open, 7 records
approvals 1 waiting: bxctl approvals --home HOME
calls     12 done, 1 failed, 4 denied (3 no_grant, 1 taint)
now       1 box runs, 2 connections, 4 sessions on record, 100 MiB
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

test("status shows the last error in one line, whatever is in it, and a disk that is almost full", async () => {
  const last = { time: TIME, event: "bug", detail: `where: x\n${HOSTILE.join("")}` };
  const { status, out } = await run(
    { admin: statusReport({ errors: 2, last_error: last, low_space: true }), loop: SESSIONS },
    showStatus,
  );
  assert.equal(status, 0);
  assert.equal(findUnsafe(out), undefined);
  assert.match(out, new RegExp(`\\nerror {5}${TIME} bug: where: x\\\\u000a.* \\(2 since the start\\)\\n`, "u"));
  assert.match(out, /\ndisk {6}almost full: .*see docs\/runbook\.md#low-space\n/u);
});

test("status names no more than two units of how long it has been up, and counts one of a kind as one", async () => {
  for (const [uptime, expected] of [
    [0, "0 s"],
    [61_000, "1 min 1 s"],
    [60_000, "1 min"],
    [3_600_000, "1 h"],
    [3_661_000, "1 h 1 min"],
  ] as const) {
    const few = { uptime_ms: uptime, connections: 1, sessions: 1, boxes: 0, calls: { results: 0, failed: 0, denied: [] } };
    const { out } = await run({ admin: statusReport(few), loop: SESSIONS }, showStatus);
    assert.ok(out.includes(` (${expected}), runtime`), out);
    assert.match(out, /\ncalls {5}0 done, 0 failed, 0 denied\nnow {7}0 boxes run, 1 connection, 1 session on record, 100 MiB\n/u);
  }
});

test("status --otlp is one line of OTLP's JSON: whole numbers and times as texts, sums since the start", async () => {
  const { status, out, err } = await run({ admin: statusReport() }, showMetrics);
  assert.deepEqual([status, err, out.indexOf("\n")], [0, "", out.length - 1]);
  const line = JSON.parse(out) as OtlpLine;
  const [{ resource, scopeMetrics } = assert.fail(out)] = line.resourceMetrics;
  assert.deepEqual(resource.attributes[0], { key: "service.name", value: { stringValue: "boxmaker-brokerd" } });
  const named = new Map(scopeMetrics.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric] as const)));
  const at = { startTimeUnixNano: "1789745412000000000", timeUnixNano: "1789835473000000000" };
  const outcome = (value: string): object => ({ key: "boxmaker.call.outcome", value: { stringValue: value } });
  const reason = (value: string): object => ({ key: "boxmaker.denial.reason", value: { stringValue: value } });
  assert.deepEqual(named.get("boxmaker.calls"), {
    name: "boxmaker.calls",
    unit: "{call}",
    description: "tool calls that were answered",
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [
        { ...at, asInt: "12", attributes: [outcome("result")] },
        { ...at, asInt: "1", attributes: [outcome("failed")] },
        { ...at, asInt: "1", attributes: [outcome("denied"), reason("taint")] },
        { ...at, asInt: "3", attributes: [outcome("denied"), reason("no_grant")] },
      ],
    },
  });
  assert.deepEqual(named.get("boxmaker.approvals.pending"), {
    name: "boxmaker.approvals.pending",
    unit: "{approval}",
    description: "calls that wait for the owner",
    gauge: { dataPoints: [{ ...at, asInt: "1", attributes: [] }] },
  });
  assert.deepEqual([...named.keys()].sort(), [
    "boxmaker.approvals.pending",
    "boxmaker.audit.low_space",
    "boxmaker.audit.open",
    "boxmaker.audit.records",
    "boxmaker.boxes.running",
    "boxmaker.calls",
    "boxmaker.connections",
    "boxmaker.errors",
    "boxmaker.grants",
    "boxmaker.grants.valid",
    "boxmaker.sessions",
    "process.memory.usage",
    "process.uptime",
  ]);
  const away = await run({}, showMetrics);
  assert.deepEqual([away.status, away.out], [1, ""]);
  assert.match(away.err, /#brokerd-away\n$/u);
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
