import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { AdminAnswer } from "@boxmaker/proto";
import { diffGrants } from "../../src/grants/diff-grants.ts";
import type { GrantsCommand } from "../../src/grants/grants-command.ts";
import { listGrants, showPowers } from "../../src/grants/show-grants.ts";
import { testGrants } from "../../src/grants/test-grants.ts";
import { verifyGrants } from "../../src/grants/verify-grants.ts";
import { AuditFolder, decided, hashOf, opened } from "../support/audit-folder.ts";
import { findUnsafe } from "../support/corpus.ts";
import { GrantsHome, notesAndWeb } from "../support/grants-home.ts";
import { listenAdmin } from "../support/scripted-server.ts";

const COMMANDS: readonly (readonly [string, (at: GrantsCommand) => Promise<number>])[] = [
  ["list", (at) => listGrants(at, {})],
  ["show", (at) => showPowers(at, {})],
  ["verify", (at) => verifyGrants(at, undefined)],
];

test("grants show is a table of tools and targets in a new session", async () => {
  await using home = await notesAndWeb();
  const { status, out, err } = await home.run((at) => showPowers(at, {}));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /^a new session, which has seen public, at most secret:\n/u);
  assert.match(out, /\nread_file {3}"\/srv\/notes" +auto {2}"notes", result private\n/u);
  assert.match(out, /\nhttp_fetch {2}"example\.com" +ask {3}"web", result public, untrusted\n$/u);
  const json = await home.run((at) => showPowers(at, {}), true);
  const { session, powers } = JSON.parse(json.out) as { session: null; powers: readonly { tool: string }[] };
  assert.deepEqual([session, new Set(powers.map(({ tool }) => tool))], [null, new Set(["read_file", "http_fetch"])]);
});

test("grants show --session is by what the session has seen, with the grants it has of its own", async () => {
  await using home = await notesAndWeb();
  const text =
    'id = "session-1"\ntool = "write_file"\nmode = "auto"\nsession = "holidays"\n\n[constraints]\npaths = ["/srv/out"]\n';
  await using _admin = await listenAdmin(home.at("run/admin/admin.sock"), () =>
    AdminAnswer.parse({
      kind: "session_report",
      body: {
        session: "holidays",
        origin: "terminal",
        ceiling: "secret",
        state: { taint: "secret", untrusted: false },
        from: null,
        raised_by: [],
        grants: [{ grant: "session-1", text }],
      },
    }),
  );
  const { status, out } = await home.run((at) => showPowers(at, { session: "holidays" }));
  assert.equal(status, 0);
  assert.match(out, /^session holidays, which has seen secret, at most secret:\n/u);
  assert.match(out, /http_fetch {2}"example\.com" +gone {2}"web", the session has seen data too confidential for it\n/u);
  assert.match(out, /write_file {2}"\/srv\/out.+"session-1"/u);
  assert.equal((await home.run((at) => showPowers(at, { session: "No Id" }))).status, 2);
});

test("the state of a new session is the configuration's", async () => {
  await using home = await GrantsHome.make('home = ".."\n[sessions]\ntaint = "private"\nuntrusted = true\nmax_class = "private"\n');
  assert.match(
    (await home.run((at) => showPowers(at, {}))).out,
    /^a new session, which has seen private, untrusted, at most private:\nnothing: no grant permits anything\n$/u,
  );
  mkdirSync(home.at("memory"));
  writeFileSync(home.at("memory/core.md"), "x");
  writeFileSync(home.at("etc/brokerd.toml"), 'home = ".."\n[sessions]\nmemory_class = "secret"\n');
  assert.match((await home.run((at) => showPowers(at, {}))).out, /^a new session, which has seen secret, /u);
});

test("grants show takes in what boxes left on paths, by the log", async () => {
  await using home = await notesAndWeb();
  const run = {
    runtime: "podman",
    image: `sha256:${"a".repeat(64)}`,
    mounts: [{ path: "/srv/notes", writable: true }],
    masked: [],
    exposed: [],
    host_exec: false,
    hosts: [],
  };
  const secret = { taint: "secret", untrusted: true };
  new AuditFolder(home.at("audit")).add(opened("a"), decided("a", 1, "allowed", { tool: "shell", raises: secret, run }));
  assert.match((await home.run((at) => showPowers(at, {}))).out, /"\/srv\/notes" +auto {2}"notes", result secret, untrusted\n/u);
});

test("grants list says how each grant was used, by the log, and what is odd about it", async () => {
  await using home = (await notesAndWeb())
    .grant("old", ['tool = "read_file"', 'mode = "auto"', "expires = 2020-01-01T00:00:00Z"], ['paths = ["/srv/old"]'])
    .grant("few", ['tool = "read_file"', 'mode = "auto"', "uses = 2"], ['paths = ["/srv/few"]'])
    .grant("never", ['tool = "read_file"', 'mode = "deny"'], ['paths = ["/srv/old"]']);
  const matched = [{ grant: "few", sha256: hashOf("few"), effect: "auto" }];
  new AuditFolder(home.at("audit")).add(
    decided("a", 1, "allowed"),
    decided("a", 2, "allowed", { matched, spends: "few" }),
    decided("a", 3, "allowed", { matched, spends: "few" }),
  );
  const { status, out, err } = await home.run((at) => listGrants(at, {}));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /"notes" {2}read_file, auto, "notes\.toml": in 1 decisions, last 2026-01-05 /u);
  assert.match(
    out,
    /"few" {2}read_file, auto, "few\.toml": in 2 decisions, last 2026-01-05 [^\n]+, 2 of 2 uses spent\n {4}line \d+: spent: /u,
  );
  assert.match(out, /"web" {2}http_fetch, ask, "web\.toml": never used\n/u);
  assert.match(out, /"old" [^\n]+\n.+\n {4}line 4: expired 2020-01-0/u);
  assert.match(out, /\n {4}line \d+: shadowed: "never" denies all that it speaks about\n/u);
  const json = JSON.parse((await home.run((at) => listGrants(at, {}), true)).out) as readonly { grant: string; spent: number }[];
  assert.deepEqual(
    json.map(({ grant, spent }) => [grant, spent]),
    [
      ["few", 2],
      ["never", 0],
      ["notes", 0],
      ["old", 0],
      ["web", 0],
    ],
  );
});

test("grants list goes on without a log, and says so", async () => {
  await using home = await notesAndWeb();
  rmSync(home.at("audit"), { recursive: true });
  const { status, out, err } = await home.run((at) => listGrants(at, {}));
  assert.equal(status, 0);
  assert.match(out, /"web" .+: never used\n/u);
  assert.match(
    err,
    /^bxctl: the audit log in .+#audit-directory; what follows takes every grant for unused and every path for unlabelled\n$/u,
  );
});

test("grants verify proves the theorems and shows what flows where, with what it looked at", async () => {
  await using home = (await notesAndWeb()).grant(
    "send",
    ['tool = "http_fetch"', 'mode = "auto"', 'max_taint = "private"'],
    ['hosts = ["example.org"]'],
  );
  const { status, out, err } = await home.run((at) => verifyGrants(at, undefined));
  assert.deepEqual([status, err], [0, ""]);
  for (const id of ["T1", "T2", "T3", "T4", "T5"]) assert.match(out, new RegExp(`^${id} holds: .+ \\(\\d+ cases\\)$`, "mu"));
  assert.match(
    out,
    /\nCAN {4}a session that has seen private data use http_fetch unapproved:\n {6}1\. read_file "\/srv\/notes[^\n]+\n/u,
  );
  assert.match(out, /\nnever {2}a session that has seen secret data uses http_fetch unapproved\n/u);
  assert.match(out, /\nlooked at: 3 grants, \d+ kinds of calls, /u);
  const json = JSON.parse((await home.run((at) => verifyGrants(at, undefined), true)).out) as { holds: boolean };
  assert.equal(json.holds, true);
});

test("grants test tells which cases fail, where, and which grants no case is about", async () => {
  await using home = await notesAndWeb();
  const file = home.at("cases.toml");
  const good = '[[cases]]\nname = "notes"\ntool = "read_file"\nargs = { path = "/srv/notes/a" }\nexpect = "auto"\n';
  writeFileSync(file, good);
  assert.deepEqual(await home.run((at) => testGrants(at, file, undefined)), {
    status: 0,
    out: 'no case is about grant "web"\ngrants test: 1 of 1 cases as expected\n',
    err: "",
  });
  writeFileSync(
    file,
    `${good}[[cases]]\ntool = "http_fetch"\nargs = { url = "https://example.com/" }\nexpect = "deny"\nreason = "taint"\n`,
  );
  const failed = await home.run((at) => testGrants(at, file, undefined));
  assert.deepEqual([failed.status, failed.err], [1, ""]);
  assert.equal(
    failed.out,
    'HOME/cases.toml:6: "case 2": expected deny (taint), found ask by "web"\ngrants test: 1 of 2 cases as expected\n',
  );
  const json = await home.run((at) => testGrants(at, file, undefined), true);
  assert.equal((JSON.parse(json.out) as { failed: number }).failed, 1);
});

test("a table that can't be read, or is none, is status 2 with every fault and its line", async () => {
  await using home = await notesAndWeb();
  const file = home.at("cases\u001b.toml");
  assert.equal((await home.run((at) => testGrants(at, file, undefined))).status, 2);
  writeFileSync(file, '[[cases]]\ntool = "read_file"\nargs = { path = "x\\u001b[2J" }\nexpect = "auto"\nodd = 1\n');
  const { status, out, err } = await home.run((at) => testGrants(at, file, undefined));
  assert.deepEqual([status, out], [2, ""]);
  assert.match(err, /^HOME\/cases\\u001b\.toml:\d+: .+\nbxctl: .+#grants-test-table\n$/su);
  assert.equal(findUnsafe(err), undefined);
});

test("grants diff compares by effect, and --fail-on-wider is for a commit hook", async () => {
  await using home = (await notesAndWeb()).grant(
    "web",
    ['tool = "http_fetch"', 'mode = "auto"'],
    ['hosts = ["example.com"]'],
    "new",
  );
  home.grant("notes", ['tool = "read_file"', 'mode = "auto"'], ['paths = ["/srv/notes"]'], "new");
  const old = home.at("etc/grants");
  const fresh = home.at("new");
  const same = await home.run((at) => diffGrants(at, old, old, true));
  assert.deepEqual([same.status, same.err], [0, ""]);
  assert.match(same.out, /^grants diff: (\d+) of \1 kinds of calls are decided alike\n$/u);
  const wider = await home.run((at) => diffGrants(at, old, fresh, true));
  assert.equal(wider.status, 1);
  assert.match(
    wider.out,
    /^http_fetch "example\.com": WIDER \(outcome\) and narrower \(outcome\)\n {4}ask -> auto for sessions that have seen public /u,
  );
  assert.equal(wider.err, "bxctl: grants: the new ones are wider; see docs/runbook.md#grants-wider\n");
  assert.equal((await home.run((at) => diffGrants(at, old, fresh, false))).status, 0);
  const json = await home.run((at) => diffGrants(at, old, fresh, false), true);
  assert.equal((JSON.parse(json.out) as { wider: boolean }).wider, true);
  assert.equal((await home.run((at) => diffGrants(at, old, home.at("none"), false))).status, 1);
});

test("grants that aren't valid are named with every fault, status 1", async () => {
  await using home = await notesAndWeb();
  writeFileSync(home.at("etc/grants/bad.toml"), 'id = "bad\\u001b"\n');
  for (const [name, command] of COMMANDS) {
    const { status, out, err } = await home.run(command);
    assert.deepEqual([status, out], [1, ""], name);
    assert.match(err, /^HOME\/etc\/grants\/bad\.toml:1: .+\nbxctl: "HOME\/etc\/grants": \d+ faults: .+#grants-invalid\n$/su);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("a grant of the box's own places is invalid here, too", async () => {
  await using home = await GrantsHome.make();
  home.grant("own", ['tool = "read_file"', 'mode = "auto"'], [`paths = ["${home.at("audit")}"]`]);
  const { status, err } = await home.run((at) => verifyGrants(at, undefined));
  assert.equal(status, 1);
  assert.match(err, /the box's own "HOME\/audit"/u);
});

test("a configuration that can't be read is one line with a pointer, status 1", async () => {
  await using home = await notesAndWeb();
  for (const spoil of [
    () => writeFileSync(home.at("etc/brokerd.toml"), "home = 1\n[audit]\ndirectory = 2\n"),
    () => writeFileSync(home.at("etc/brokerd.toml"), Buffer.from([0xff])),
    () => writeFileSync(home.at("etc/brokerd.toml"), 'home = "\\u0001"\n'),
    () => rmSync(home.at("etc/brokerd.toml")),
  ]) {
    spoil();
    const { status, out, err } = await home.run((at) => verifyGrants(at, undefined));
    assert.deepEqual([status, out], [1, ""]);
    assert.match(err, /^bxctl: "HOME\/etc\/brokerd\.toml": .+; see docs\/runbook\.md#broker-config-unread\n$/u);
  }
});
