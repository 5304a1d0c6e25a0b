import assert from "node:assert/strict";
import { appendFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { replayGrants } from "../../src/grants/replay-grants.ts";
import { AuditFolder, decided, hashOf, opened } from "../support/audit-folder.ts";
import { findUnsafe } from "../support/corpus.ts";
import { type GrantsHome, notesAndWeb } from "../support/grants-home.ts";

function log(home: GrantsHome): AuditFolder {
  return new AuditFolder(home.at("audit")).add(
    opened("a"),
    decided("a", 1, "allowed"),
    decided("a", 2, "denied", { arguments: { form: "typed", values: { path: "/srv/mail/a" } } }),
    decided("a", 3, "denied", { reason: "throttled" }),
    decided("a", 4, "denied", {
      reason: "invalid_arguments",
      tool: "odd\u202e",
      arguments: { form: "unread", text: { sha256: hashOf("x"), bytes: 1 } },
    }),
  );
}

test("grants replay --with tells which decisions would have come to something else, and which get more", async () => {
  await using home = (await notesAndWeb())
    .grant("notes", ['tool = "read_file"', 'mode = "ask"'], ['paths = ["/srv/notes"]'], "new")
    .grant("mail", ['tool = "read_file"', 'mode = "auto"'], ['paths = ["/srv/mail"]'], "new");
  log(home);
  const { status, out, err } = await home.run((at) => replayGrants(at, { with: home.at("new") }));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /^ {7}record 2, session a: read_file "\/srv\/notes\/todo\.md": allowed by "notes" -> ask by "notes"\n/u);
  assert.match(out, /\nWIDER {2}record 3, session a: read_file "\/srv\/mail\/a": denied \(no_grant\) -> allowed by "mail"\n/u);
  assert.match(out, /\nnot taken again: 1 decisions were denied by brokerd itself, and by no rule\n/u);
  assert.match(out, /\ngrants replay: \d of 3 decisions come to the same\n$/u);
  assert.equal(findUnsafe(out), undefined);
  const json = JSON.parse((await home.run((at) => replayGrants(at, { with: home.at("new") }), true)).out) as { decided: number };
  assert.equal(json.decided, 3);
});

test("--since leaves out older decisions", async () => {
  await using home = await notesAndWeb();
  log(home)
    .day("2026-01-06")
    .add(decided("a", 5, "denied"));
  const { out } = await home.run((at) => replayGrants(at, { with: home.at("etc/grants"), since: "2026-01-06T00:00Z" }));
  assert.match(out, /WIDER {2}record 6, .+\ngrants replay: 0 of 1 decisions come to the same\n$/u);
});

test("grants replay alone is status 1 where a decision doesn't follow from its own inputs, and says what can't be taken again", async () => {
  await using home = await notesAndWeb();
  const folder = log(home);
  const missing = await home.run((at) => replayGrants(at, {}));
  assert.match(missing.out, /not taken again: \d decisions (name texts|were denied)/u);
  const text = 'id = "notes"\ntool = "read_file"\nmode = "auto"\n\n[constraints]\npaths = ["/srv/notes"]\n';
  folder.add(
    { kind: "grants_changed", files: [{ file: "notes.toml", sha256: folder.keep("grants", text) }] },
    decided("a", 5, "denied"),
  );
  const { status, out, err } = await home.run((at) => replayGrants(at, {}));
  assert.equal(status, 1);
  assert.match(out, /WIDER {2}record 7, session a: .+ denied \(no_grant\) -> allowed by "notes"\n/u);
  assert.match(err, /^bxctl: grants: the log doesn't follow from its own inputs; see docs\/runbook\.md#replay-differs\n$/u);
});

test("grants replay is status 1 where nothing could be taken again, with other grants too, and says why", async () => {
  await using home = await notesAndWeb();
  new AuditFolder(home.at("audit")).add(
    opened("a"),
    decided("a", 1, "denied", { reason: "throttled" }),
    decided("a", 2, "denied", { reason: "low_space" }),
  );
  for (const flags of [{}, { with: home.at("etc/grants") }]) {
    for (const json of [false, true]) {
      const { status, err } = await home.run((at) => replayGrants(at, flags), json);
      assert.equal(status, 1);
      assert.equal(
        err,
        "bxctl: grants: none of the decisions could be taken again: 2 decisions were denied by brokerd itself, and by no rule; see docs/runbook.md#replay-nothing\n",
      );
    }
  }
});

test("grants replay of a log without decisions has nothing to say against it", async () => {
  await using home = await notesAndWeb();
  new AuditFolder(home.at("audit")).add(opened("a"));
  const { status, out, err } = await home.run((at) => replayGrants(at, {}));
  assert.deepEqual([status, out, err], [0, "grants replay: 0 of 0 decisions come to the same\n", ""]);
});

test("what can't be read, and flags that aren't understood, say so", async () => {
  await using home = await notesAndWeb();
  const folder = log(home);
  assert.equal((await home.run((at) => replayGrants(at, { since: "soon" }))).status, 2);
  assert.equal((await home.run((at) => replayGrants(at, { with: home.at("none") }))).status, 1);
  appendFileSync(folder.file, "{}\n");
  folder.seq++;
  folder.add({ kind: "stopped" });
  const broken = await home.run((at) => replayGrants(at, {}));
  assert.deepEqual([broken.status, broken.out], [1, ""]);
  assert.match(broken.err, /#audit-broken\n$/u);
  rmSync(home.at("audit"), { recursive: true });
  assert.match((await home.run((at) => replayGrants(at, {}))).err, /#audit-directory\n$/u);
});
