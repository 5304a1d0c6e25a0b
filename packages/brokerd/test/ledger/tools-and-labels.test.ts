/** `tools.toml` and `labels.toml` on the way of a call: decided by, recorded, and changed under an ask that waits. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { SessionId, sha256 } from "@boxmaker/proto";
import { BoxFiles, Rig } from "../support/rig.ts";

const ASK = '[read_file]\notherwise = "ask"\n';

test("a call that no grant permits asks where tools.toml says so, runs once it is approved, and is recorded by the file's hash", async () => {
  using files = new BoxFiles();
  files.rule("tools.toml", ASK);
  await using rig = await Rig.open(files);
  const sent = rig.read();
  const id = await sent.pending;
  assert.deepEqual(
    rig.table.list().map(({ ask }) => [ask.grant, ask.grantFile, ask.run.mounts]),
    [["tools.toml", "etc/tools.toml", [{ path: files.at("notes/todo.md"), writable: false }]]],
  );
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "ask" } });
  const outcome = await sent.outcome;
  assert.equal(typeof outcome === "object" && outcome.outcome, "result");
  const [decision] = files.events("decision");
  assert.deepEqual([decision?.outcome, decision?.grant, decision?.grant_sha256], ["ask", "tools.toml", sha256(ASK)]);
  const [changed] = files.events("grants_changed");
  assert.deepEqual(changed?.files, [{ file: "etc/tools.toml", sha256: sha256(ASK) }]);
  assert.equal(readFileSync(files.at(`audit/grants/${sha256(ASK)}`), "utf8"), ASK);
});

test("the gateway can't approve what only tools.toml lets through", async () => {
  using files = new BoxFiles();
  files.rule("tools.toml", ASK);
  await using rig = await Rig.open(files);
  const sent = rig.read();
  const id = await sent.pending;
  assert.equal((await rig.approve(id, "gateway")).kind, "error");
  assert.deepEqual(rig.runtime.runs, []);
  sent.leave();
  await sent.outcome;
});

test("an ask of tools.toml isn't run by an approval of what has changed: the file's label, or the file itself", async () => {
  using files = new BoxFiles();
  files.rule("tools.toml", ASK);
  await using rig = await Rig.open(files);
  const sent = rig.read();
  const id = await sent.pending;
  files.rule("tools.toml", `${ASK}label = "secret"\n`);
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "changed" } });
  files.rule("tools.toml", "");
  const answer = await rig.approve(id);
  assert.deepEqual(answer.kind === "approve_result" && answer.body, { outcome: "denied", reason: "no_grant" });
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "no_grant" });
  assert.equal(rig.runtime.runs.length, 0);
});

test("a tree of labels.toml raises whoever reads in it, and is recorded by its hash", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto", 'label = "public"');
  files.grant("fetch", "http_fetch", "auto");
  const labels = `[[trees]]\npath = "${files.at("notes/tax")}"\nlabel = "secret"\nuntrusted = true\n`;
  files.rule("labels.toml", labels);
  await using rig = await Rig.open(files);
  await rig.read("todo.md").outcome;
  assert.deepEqual(rig.ledger.states.session(SessionId.parse("chat-1"))?.label, { taint: "public", untrusted: false });
  await rig.read("tax/2025.md").outcome;
  const [, decision] = files.events("decision");
  assert.deepEqual(decision?.raises, { taint: "secret", untrusted: true });
  assert.deepEqual(decision?.path_labels, [{ path: files.at("notes/tax"), label: { taint: "secret", untrusted: true } }]);
  assert.deepEqual(await rig.send("http_fetch", { url: "https://example.com/" }).outcome, { outcome: "denied", reason: "taint" });
  assert.ok(
    files
      .events("grants_changed")[0]
      ?.files.some(({ file, sha256: hash }) => file === "etc/labels.toml" && hash === sha256(labels)),
  );
});

for (const name of ["tools.toml", "labels.toml"] as const) {
  test(`what is wrong with ${name} denies every call, until it is put right`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    files.rule(name, "colour = 1\n");
    await using rig = await Rig.open(files);
    assert.deepEqual(await rig.read().outcome, { outcome: "denied", reason: "grants_invalid" });
    assert.ok(rig.lines.some((line) => line.includes(name) && line.includes("grants-invalid")));
    writeFileSync(files.at(name), "# nothing\n");
    const outcome = await rig.read().outcome;
    assert.equal(typeof outcome === "object" && outcome.outcome, "result");
  });
}
