import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminAnswer, AdminRequest, LoopAnswer, LoopRequest } from "@boxmaker/proto";
import type { BoxCommand } from "../../src/box/box-commands.ts";
import { rewindSession, showSession } from "../../src/box/session-commands.ts";
import { AuditFolder, decided } from "../support/audit-folder.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { type GrantsHome, notesAndWeb } from "../support/grants-home.ts";
import { ScriptedServer } from "../support/scripted-server.ts";

const REPORT = {
  kind: "session_report",
  body: {
    session: "a",
    origin: "terminal",
    ceiling: "secret",
    state: { taint: "private", untrusted: true },
    from: null,
    raised_by: [{ decision: 12, call: 3, tool: "http_fetch", after: { taint: "private", untrusted: true } }],
    grants: [],
  },
};

async function run(
  home: GrantsHome,
  answers: Readonly<Record<string, unknown>>,
  command: (at: BoxCommand) => Promise<number>,
  json = false,
) {
  const asked: string[] = [];
  const requests: (AdminRequest | LoopRequest)[] = [];
  await using _admin = await ScriptedServer.listen(
    home.at("run/admin/admin.sock"),
    AdminRequest,
    AdminAnswer,
    (request, connection) => {
      asked.push(request.kind);
      requests.push(request);
      connection.send(AdminAnswer.parse(answers[request.kind]), true);
    },
  );
  await using _loop = await ScriptedServer.listen(home.at("run/loop/loop.sock"), LoopRequest, LoopAnswer, (request, connection) => {
    asked.push(request.kind);
    requests.push(request);
    connection.send(LoopAnswer.parse(answers[request.kind]), true);
  });
  return { ...(await home.run(command, json)), asked, requests };
}

test("session show says what it has seen, by which calls, what is still auto, what now asks and what is gone", async () => {
  await using home = (await notesAndWeb())
    .grant("out", ['tool = "write_file"', 'mode = "auto"'], ['paths = ["/srv/out"]'])
    .grant("open", ['tool = "http_fetch"', 'mode = "auto"'], ['hosts = ["open.example"]'])
    .grant(
      "few",
      ['tool = "http_fetch"', 'mode = "auto"', "uses = 1", 'max_taint = "secret"', 'if_untrusted = "auto"'],
      ['hosts = ["few.example"]'],
    );
  new AuditFolder(home.at("audit")).add(decided("a", 1, "allowed", { spends: "few" }));
  const { status, out, err } = await run(home, { session: REPORT }, (at) => showSession(at, "a"));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(
    out,
    /^session a: has seen private, untrusted\n {2}comes from {2}terminal, may see secret\n {2}raised by {3}call 3: http_fetch, to private, untrusted \(record 12\)\n/u,
  );
  assert.match(out, /\n {2}still auto {2}read_file "\/srv\/notes"\n/u);
  assert.match(out, /\n {2}now asks {4}write_file "\/srv\/out/u);
  assert.match(out, /\n {2}gone now {4}http_fetch "open\.example"\n$/u);
  assert.doesNotMatch(out, /few\.example/u);
});

test("session show tells of a rewound session where it was cut off, and of its own grants, which count", async () => {
  await using home = await notesAndWeb();
  const text = 'id = "session-1"\ntool = "write_file"\nmode = "auto"\nsession = "a"\n\n[constraints]\npaths = ["/srv/out"]\n';
  const report = {
    kind: "session_report",
    body: {
      ...REPORT.body,
      state: { taint: "public", untrusted: false },
      raised_by: [],
      from: { session: "b", turn: 2, call: 4 },
      grants: [{ grant: "session-1", text }],
    },
  };
  const { out } = await run(home, { session: report }, (at) => showSession(at, "a"));
  assert.match(out, /\n {2}rewound {5}from b, with its first 2 turns \(up to call 4\)\n {2}own grants {2}"session-1": "id = .+\n/u);
  assert.match(out, /write_file "\/srv\/out/u);
});

test("session show goes on where the grants can't be read here", async () => {
  await using home = (await notesAndWeb()).grant("bad", ["tool = 1"], []);
  const { status, out, err } = await run(home, { session: REPORT }, (at) => showSession(at, "a"));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /\n {2}can do {6}unknown: its grants can't be read here, see bxctl grants check\n$/u);
  const json = await run(home, { session: REPORT }, (at) => showSession(at, "a"), true);
  assert.deepEqual(JSON.parse(json.out), { ...REPORT.body, powers: null });
});

test("session show --json has the powers, too", async () => {
  await using home = await notesAndWeb();
  const { out } = await run(home, { session: REPORT }, (at) => showSession(at, "a"), true);
  const { powers } = JSON.parse(out) as { powers: { auto: readonly { target: string }[] } };
  assert.ok(powers.auto.some(({ target }) => target === "/srv/notes"));
});

test("session rewind asks loopd where the turns end, has brokerd record the new session, and only then has loopd make it", async () => {
  await using home = await notesAndWeb();
  const answers = {
    rewind_point: { kind: "rewind_point_report", body: { session: "a", turn: 2, turns: 5, call: 7 } },
    open_rewound: { ...REPORT, body: { ...REPORT.body, session: "b", from: { session: "a", turn: 2, call: 7 } } },
    rewind: { kind: "session_started", body: { session: "b" } },
  };
  const { status, out, err, asked, requests } = await run(home, answers, (at) => rewindSession(at, "a", "2"));
  assert.deepEqual([status, err, asked], [0, "", ["rewind_point", "open_rewound", "rewind"]]);
  const [, opened, rewound] = requests;
  assert(opened?.kind === "open_rewound" && rewound?.kind === "rewind");
  assert.deepEqual(opened.body, rewound.body);
  const { to, ...rest } = opened.body;
  assert.deepEqual(rest, { session: "a", turn: 2, call: 7 });
  assert.equal(
    out,
    `session ${to}: the first 2 of 5 turns of a; has seen private, untrusted\ngo on with: bxctl chat --session ${to} --home HOME\n`,
  );
  const json = await run(home, answers, (at) => rewindSession(at, "a", "2"), true);
  assert.deepEqual(JSON.parse(json.out), answers.open_rewound.body);
});

test("session rewind stops at the first refusal, and says how far it came", async () => {
  await using home = await notesAndWeb();
  const refused = { kind: "error", body: { code: "internal", detail: "not \u001b[2J" } };
  const point = { kind: "rewind_point_report", body: { session: "a", turn: 0, turns: 5, call: 0 } };
  const first = await run(home, { rewind_point: refused }, (at) => rewindSession(at, "a", "0"));
  assert.deepEqual([first.status, first.out, first.asked], [1, "", ["rewind_point"]]);
  const second = await run(home, { rewind_point: point, open_rewound: refused }, (at) => rewindSession(at, "a", "0"));
  assert.deepEqual([second.status, second.out, second.asked], [1, "", ["rewind_point", "open_rewound"]]);
  assert.match(second.err, /^bxctl: session a isn't rewound: brokerd: internal: not \\u001b\[2J\n$/u);
  const third = await run(home, { rewind_point: point, open_rewound: REPORT, rewind: refused }, (at) =>
    rewindSession(at, "a", "0"),
  );
  assert.deepEqual([third.status, third.out], [1, ""]);
  assert.match(
    third.err,
    /^bxctl: session chat-\S+ is on record, but loopd didn't start it, so nothing uses it; try again: loopd: /u,
  );
  const wrong = await run(home, { rewind_point: { kind: "ok", body: {} } }, (at) => rewindSession(at, "a", "0"));
  assert.match(wrong.err, /#peer-unreadable\n$/u);
  const unsaid = await run(home, { rewind_point: point, open_rewound: REPORT, rewind: { kind: "ok", body: {} } }, (at) =>
    rewindSession(at, "a", "0"),
  );
  assert.match(unsaid.err, /#peer-unreadable\n$/u);
});

test("what is no session id and no turn is status 2, and nothing is asked", async () => {
  await using home = await notesAndWeb();
  for (const id of ["A", "", "a/b", "../x", "\u001b", "a".repeat(65)]) {
    const { status, err, asked } = await run(home, {}, (at) => showSession(at, id));
    assert.deepEqual([status, asked], [2, []]);
    assert.match(err, /^bxctl: ".*" is no session id: expected .*\n$/u);
    assert.equal(findUnsafe(err), undefined);
    assert.equal((await run(home, {}, (at) => rewindSession(at, id, "1"))).status, 2);
  }
  for (const turn of ["-1", "", "1.5", "x\u001b", "１", "9999999999999999"]) {
    const { status, err, asked } = await run(home, {}, (at) => rewindSession(at, "a", turn));
    assert.deepEqual([status, asked], [2, []]);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("nothing that brokerd says of a session can steer the terminal", async () => {
  await using home = await notesAndWeb();
  const text = HOSTILE.join("");
  const body = { ...REPORT.body, raised_by: [{ ...REPORT.body.raised_by[0], tool: text }], grants: [{ grant: text, text }] };
  for (const json of [false, true]) {
    const { out } = await run(home, { session: { kind: "session_report", body } }, (at) => showSession(at, "a"), json);
    assert.equal(findUnsafe(out), undefined);
  }
});
