import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { AdminAnswer, type AdminRequest } from "@boxmaker/proto";
import { type ApproveFlags, approveCommand } from "../../src/approvals/approval-commands.ts";
import { writeGrant } from "../../src/approvals/write-grant.ts";
import { askBlock } from "../support/asks.ts";
import { findUnsafe } from "../support/corpus.ts";
import { GrantsHome } from "../support/grants-home.ts";
import { listenAdmin } from "../support/scripted-server.ts";

const FETCH = { tool: "http_fetch", arguments: { url: "https://example.com/a?b=1" } };
const NO_MOUNTS = {
  runtime: "process",
  image: null,
  mounts: [],
  masked: [],
  exposed: [],
  host_exec: false,
  hosts: ["example.com"],
};
const REPORT = {
  kind: "session_report",
  body: {
    session: "holidays",
    origin: "terminal",
    ceiling: "secret",
    state: { taint: "public", untrusted: true },
    from: null,
    raised_by: [],
    grants: [],
  },
};

/** Asks since its session is untrusted, which a further grant may lift. */
async function webHome(mode = "auto"): Promise<GrantsHome> {
  return (await GrantsHome.make()).grant("web", ['tool = "http_fetch"', `mode = "${mode}"`], ['hosts = ["example.com"]']);
}

const UNTRUSTED = { taint: "public", untrusted: true };

function block(changes: object = {}): AdminAnswer {
  return askBlock({
    request: FETCH,
    run: NO_MOUNTS,
    grant: "web",
    grant_file: "web.toml",
    label: { taint: "public", untrusted: true },
    before: UNTRUSTED,
    after: UNTRUSTED,
    ...changes,
  });
}

async function approve(
  home: GrantsHome,
  flags: ApproveFlags,
  answers: Readonly<Record<string, unknown>> = {},
  onAsked: (kind: string) => void = () => undefined,
  json = false,
) {
  const asked: AdminRequest["kind"][] = [];
  await using _admin = await listenAdmin(home.at("run/admin/admin.sock"), (request) => {
    asked.push(request.kind);
    onAsked(request.kind);
    const answer =
      answers[request.kind] ??
      { approval: block(), session: REPORT, approve: { kind: "approve_result", body: { outcome: "ask" } } }[
        request.kind as "approval"
      ];
    return AdminAnswer.parse(answer);
  });
  return { ...(await home.run((at) => approveCommand(at, "41", flags, () => Promise.resolve(true)), json)), asked };
}

test("approve --uses --expires shows the grant for the very call before it approves, and writes it afterwards, private", async () => {
  await using home = await webHome();
  const { status, out, err, asked } = await approve(home, { uses: "3", expires: "2999-01-31T00:00Z" });
  assert.deepEqual([status, err, asked], [0, "", ["approval", "session", "approve"]]);
  const file = home.at("etc/grants/approved-41.toml");
  const text = readFileSync(file, "utf8");
  assert.match(text, /\nid = "approved-41"\n/u);
  assert.match(text, /\nuses = 3\n/u);
  assert.match(text, /\nexpires = 2999-01-31T00:00:00/u);
  assert.match(text, /https:\/\/example\.com\/a\?b=1/u);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(home.at("etc/grants")).sort(), ["approved-41.toml", "web.toml"]);
  const shown = text
    .trimEnd()
    .split("\n")
    .map((line) => `  | ${line}\n`)
    .join("");
  assert.ok(
    out.includes(
      `with the grant "HOME/etc/grants/approved-41.toml":\n${shown}approval 41: approved, it runs\nwritten: "HOME/etc/grants/approved-41.toml"; `,
    ),
    out,
  );
});

test("a name that is taken is left alone", async () => {
  await using home = (await webHome()).grant("approved-41", ['tool = "read_file"', 'mode = "auto"'], ['paths = ["/srv/x"]']);
  const before = readFileSync(home.at("etc/grants/approved-41.toml"), "utf8");
  assert.equal((await approve(home, { uses: "1" })).status, 0);
  assert.equal(readFileSync(home.at("etc/grants/approved-41.toml"), "utf8"), before);
  assert.match(readFileSync(home.at("etc/grants/approved-41-2.toml"), "utf8"), /id = "approved-41-2"\n/u);
});

test("nothing is approved where a grant would change nothing, could not be made, or would be invalid", async () => {
  const asks = await webHome("ask");
  await using _asks = asks;
  const useless = await approve(asks, { uses: "1" });
  assert.deepEqual([useless.status, useless.asked], [1, ["approval", "session"]]);
  assert.match(
    useless.err,
    /^bxctl: not approved: a grant would change nothing, since "web" asks about this call .+#exact-grant-useless\n$/u,
  );
  await using home = await webHome();
  const noPlace = block({ request: { tool: "shell", arguments: { command: "ls" } } });
  const none = await approve(home, { uses: "1" }, { approval: noPlace });
  assert.deepEqual([none.status, none.asked], [1, ["approval", "session"]]);
  assert.match(none.err, /#exact-grant-useless\n$/u);
  const own = block({
    request: { tool: "read_file", arguments: { path: home.at("audit/x") } },
    run: { ...NO_MOUNTS, mounts: [{ path: home.at("audit"), writable: false }] },
  });
  const invalid = await approve(home, { uses: "1" }, { approval: own });
  assert.deepEqual([invalid.status, invalid.asked], [1, ["approval", "session"]]);
  assert.match(invalid.err, /^approved-41\.toml:\d+: .+\nbxctl: not approved: .+#grants-invalid\n$/su);
  const unknown = await approve(home, { uses: "1" }, { session: { kind: "error", body: { code: "internal", detail: "no" } } });
  assert.deepEqual([unknown.status, unknown.asked], [1, ["approval", "session"]]);
  assert.match(unknown.err, /^bxctl: not approved: brokerd: internal: no\n$/u);
  writeFileSync(home.at("etc/grants/bad.toml"), "x");
  const bad = await approve(home, { uses: "1" });
  assert.deepEqual([bad.status, bad.asked], [1, ["approval"]]);
  assert.deepEqual(readdirSync(home.at("etc/grants")).sort(), ["bad.toml", "web.toml"]);
});

test("no grant is written for what didn't run", async () => {
  await using home = await webHome();
  for (const body of [{ outcome: "denied", reason: "taint" }, { outcome: "changed" }]) {
    const { status } = await approve(home, { uses: "1" }, { approve: { kind: "approve_result", body } });
    assert.equal(status, 1);
  }
  assert.deepEqual(readdirSync(home.at("etc/grants")), ["web.toml"]);
});

test("a grant that can't be written is said, though the call runs, and what is in its place is left alone", async () => {
  await using home = await webHome();
  const file = home.at("etc/grants/approved-41.toml");
  const { status, err } = await approve(home, { uses: "1" }, {}, (kind) => {
    if (kind === "approve") writeFileSync(file, "mine");
  });
  assert.equal(status, 1);
  assert.match(
    err,
    /^bxctl: it runs, but the grant .+ couldn't be written \(EEXIST\); see docs\/runbook\.md#exact-grant-unwritten\n$/u,
  );
  assert.equal(readFileSync(file, "utf8"), "mine");
});

test("a grant file is written whole or not at all, and over nothing", async () => {
  await using home = await webHome();
  const directory = home.at("etc/grants");
  assert.deepEqual(await writeGrant(directory, "a.toml", "one"), { kind: "written", path: `${directory}/a.toml` });
  assert.deepEqual(await writeGrant(directory, "a.toml", "two"), { kind: "failed", code: "EEXIST" });
  assert.equal(readFileSync(`${directory}/a.toml`, "utf8"), "one");
  mkdirSync(`${directory}/.b.toml.new`);
  assert.deepEqual(await writeGrant(directory, "b.toml", "two"), { kind: "failed", code: "EEXIST" });
  assert.deepEqual(await writeGrant(home.at("none"), "b.toml", "two"), { kind: "failed", code: "ENOENT" });
  assert.deepEqual(readdirSync(directory).sort(), [".b.toml.new", "a.toml", "web.toml"]);
});

test("limits that aren't understood, or have passed, are status 2, and nothing is asked", async () => {
  await using home = await webHome();
  for (const flags of [
    { uses: "0" },
    { uses: "-1" },
    { uses: "x\u001b[2J" },
    { uses: "9999999999999999" },
    { expires: "soon\u202e" },
    { expires: "2020-01-01" },
  ]) {
    const { status, out, err, asked } = await approve(home, flags);
    assert.deepEqual([status, out, asked], [2, "", []]);
    assert.match(err, /^bxctl: .+\n$/u);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("--json is one line that says what was approved, which has to have been seen, and which grant was written, if one was", async () => {
  await using home = await webHome();
  const none = (): void => undefined;
  const shown = block();
  const { digest } = shown.kind === "approval_block" ? shown.body : assert.fail();
  const unseen = await approve(home, {}, {}, none, true);
  assert.deepEqual([unseen.status, unseen.out, unseen.asked], [2, "", []]);
  assert.match(unseen.err, /^bxctl: --json needs --digest: .+\n$/u);
  const plain = await approve(home, { digest }, {}, none, true);
  assert.deepEqual([plain.status, plain.err], [0, ""]);
  assert.deepEqual(JSON.parse(plain.out), { ...JSON.parse(JSON.stringify(block().body)), answer: "runs", grant: null });
  const granted = await approve(home, { digest, uses: "1" }, {}, none, true);
  const { grant } = JSON.parse(granted.out) as { grant: { file: string; text: string } };
  assert.equal(grant.file, "HOME/etc/grants/approved-41.toml");
  assert.equal(grant.text, readFileSync(home.at("etc/grants/approved-41.toml"), "utf8"));
  const changed = await approve(
    home,
    { digest },
    { approve: { kind: "approve_result", body: { outcome: "changed" } } },
    none,
    true,
  );
  assert.deepEqual([changed.status, (JSON.parse(changed.out) as { answer: string }).answer], [1, "changed"]);
  assert.match(changed.err, /#approval-changed\n$/u);
});
