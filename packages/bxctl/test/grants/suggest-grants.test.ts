import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { parseGrantFile } from "@boxmaker/policy/grants";
import { suggestGrants } from "../../src/grants/suggest-grants.ts";
import { AuditFolder, decided, opened } from "../support/audit-folder.ts";
import { findUnsafe } from "../support/corpus.ts";
import { notesAndWeb } from "../support/grants-home.ts";

function denied(path: string, call: number): object {
  return decided("a", call, "denied", { arguments: { form: "typed", values: { path } } });
}

test("grants suggest prints grants that can be pasted into a file, with what they would have changed, and writes nothing", async () => {
  await using home = await notesAndWeb();
  new AuditFolder(home.at("audit")).add(opened("a"), denied("/srv/mail/one", 1), denied("/srv/mail/two", 2));
  const { status, out, err } = await home.run((at) => suggestGrants(at, {}));
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /^# "[a-z0-9-]+\.toml", to be reviewed: nothing has been written\n# because of 2 records: 2, 3\n/u);
  assert.match(out, /\n# would have changed: record 2, read_file "\/srv\/mail\/one": denied -> (ask|allowed)\n/u);
  const parsed = parseGrantFile(out);
  assert.deepEqual(parsed.problems, []);
  assert.equal(parsed.whole?.tool, "read_file");
  const json = JSON.parse((await home.run((at) => suggestGrants(at, {}), true)).out) as readonly { because: readonly number[] }[];
  assert.deepEqual(json[0]?.because, [2, 3]);
});

test("--since leaves out older records, and nothing to suggest is said", async () => {
  await using home = await notesAndWeb();
  const folder = new AuditFolder(home.at("audit")).add(opened("a"), denied("/srv/mail/one", 1)).day("2026-01-06");
  folder.add(denied("/srv/post/two", 2));
  const { out } = await home.run((at) => suggestGrants(at, { since: "2026-01-06T00:00Z" }));
  assert.match(out, /\/srv\/post/u);
  assert.doesNotMatch(out, /because of 1 record: 2\n/u);
  const none = await home.run((at) => suggestGrants(at, { since: "2026-01-07T00:00Z" }));
  assert.deepEqual(
    [none.status, none.out],
    [0, "# nothing to suggest: no call was denied for want of a grant, none approved again and again\n"],
  );
  assert.equal((await home.run((at) => suggestGrants(at, { since: "soon" }))).status, 2);
});

test("what a model wrote can't steer the terminal, nor leave its comment", async () => {
  await using home = await notesAndWeb();
  const command = 'ls "x"\n[constraints]\npaths = ["/"] # \u001b[2J\u202e';
  new AuditFolder(home.at("audit")).add(
    opened("a"),
    ...[1, 2, 3].map((call) =>
      decided("a", call, "denied", { tool: "shell", arguments: { form: "typed", values: { command, cwd: "/srv/work" } } }),
    ),
  );
  for (const json of [false, true]) {
    const { out } = await home.run((at) => suggestGrants(at, {}), json);
    assert.match(out, /srv\/work/u);
    assert.equal(findUnsafe(out), undefined);
    if (!json) assert.deepEqual(parseGrantFile(out).problems, []);
  }
});

test("a log that can't be read whole suggests nothing", async () => {
  await using home = await notesAndWeb();
  const folder = new AuditFolder(home.at("audit")).add(opened("a"), denied("/srv/mail/one", 1));
  appendFileSync(folder.file, "{}\n");
  folder.seq++;
  folder.add({ kind: "stopped" });
  const { status, out, err } = await home.run((at) => suggestGrants(at, {}));
  assert.deepEqual([status, out], [1, ""]);
  assert.match(err, /#audit-broken\n$/u);
});
