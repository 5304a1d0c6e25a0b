/** Labels that boxes left on paths: shown, and taken back by the owner alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionStates } from "../../src/ledger/session-states.ts";
import { untilToldOrKilled } from "../fakes/recording-runtime.ts";
import { ask } from "../support/client.ts";
import { BoxFiles, Rig, settle } from "../support/rig.ts";
import { serve } from "../support/served.ts";

const SECRET = { taint: "secret", untrusted: true } as const;
const PUBLIC = { taint: "public", untrusted: false } as const;

function grants(files: BoxFiles): void {
  files.grant("read", "read_file", "auto", 'label = "public"');
  files.grant("write", "write_file", "auto", 'max_taint = "secret"\nif_untrusted = "auto"');
  files.grant("shell", "shell", "auto", 'max_taint = "secret"\nif_untrusted = "auto"', [files.at("work")]);
}

async function taintedWrites(rig: Rig, ...names: readonly string[]): Promise<void> {
  for (const name of names) await rig.write(name, { session: "tainted" }).outcome;
}

test("a reset takes back what boxes left on the path and below it, for the next read and after a restart", async () => {
  using files = new BoxFiles();
  grants(files);
  const states = [];
  {
    await using rig = await Rig.open(files, { opening: SECRET });
    await taintedWrites(rig, "a", "b");
    assert.equal(await rig.ledger.owner.resetLabel(files.at("notes/a")), "reset");
    assert.deepEqual(rig.states.pathLabels, [{ path: files.at("notes/b"), label: SECRET }]);
    assert.deepEqual(files.events("label_reset"), [
      { kind: "label_reset", path: files.at("notes/a"), before: SECRET, after: PUBLIC },
    ]);
    assert.equal(await rig.ledger.owner.resetLabel(files.at("notes")), "reset");
    assert.deepEqual(rig.states.pathLabels, []);
    states.push(rig.states.pathLabels);
  }
  await using rig = await Rig.open(files);
  assert.deepEqual(rig.states.pathLabels, states[0]);
  await rig.read("a").outcome;
  assert.deepEqual(files.events("decision").at(-1)?.label, PUBLIC);
});

test("a reset of a path leaves the labels of its neighbours and parents", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: SECRET });
  await taintedWrites(rig, "a", "ab");
  await rig.send("shell", { command: "true" }, { session: "tainted" }).outcome;
  assert.equal(await rig.ledger.owner.resetLabel(files.at("notes/a")), "reset");
  assert.equal(await rig.ledger.owner.resetLabel(files.at("work/deep/er")), "reset");
  assert.deepEqual(
    rig.states.pathLabels.map(({ path }) => path),
    [files.at("notes/ab"), files.at("work")],
  );
});

test("nothing is reset where a box that may write there runs, in whatever session", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: SECRET });
  const held = untilToldOrKilled();
  rig.runtime.answer = held.answer;
  const sent = rig.send("shell", { command: "true" }, { session: "tainted" });
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  for (const path of [files.at("work"), files.at("work/x/y"), files.path]) {
    assert.equal(await rig.ledger.owner.resetLabel(path), "busy", path);
  }
  assert.equal(await rig.ledger.owner.resetLabel(files.at("work2")), "reset");
  held.end();
  await sent.outcome;
  assert.equal(await rig.ledger.owner.resetLabel(files.at("work")), "reset");
  assert.deepEqual(
    files.events("label_reset").map(({ path }) => path),
    [files.at("work2"), files.at("work")],
  );
});

test("nothing is reset where a box may write that has answered and not ended: a command can forge its answer and run on", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: SECRET });
  await taintedWrites(rig, "a");
  rig.runtime.lingering = [files.at("notes")];
  assert.equal(await rig.ledger.owner.resetLabel(files.at("notes/a")), "busy");
  assert.equal(rig.states.pathLabels.length, 1);
  assert.equal(await rig.ledger.owner.resetLabel(files.at("work")), "reset");
  rig.runtime.lingering = [];
  assert.equal(await rig.ledger.owner.resetLabel(files.at("notes/a")), "reset");
});

test("a box that only reads there doesn't keep a label from being reset", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  const held = untilToldOrKilled();
  rig.runtime.answer = held.answer;
  const sent = rig.read("a");
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  assert.equal(await rig.ledger.owner.resetLabel(files.at("notes")), "reset");
  held.end();
  await sent.outcome;
});

test("a reset that can't be recorded stops the ledger", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: SECRET });
  await taintedWrites(rig, "a");
  rig.log.fault = ({ kind }) => (kind === "label_reset" ? "throw" : undefined);
  assert.equal(await rig.ledger.owner.resetLabel(files.at("notes/a")), "unrecorded");
  assert.equal(rig.states.pathLabels.length, 1);
  assert.deepEqual(await rig.read("a", { session: "tainted" }).outcome, { outcome: "denied", reason: "audit_unavailable" });
});

test("a write and a reset at the same moment: a path whose box was let run after the reset has its label", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: SECRET });
  await taintedWrites(rig, "a");
  for (let round = 0; round < 20; round++) {
    const write = (): Promise<unknown> => rig.write("a", { session: "tainted" }).outcome;
    const reset = (): Promise<unknown> => rig.ledger.owner.resetLabel(files.at("notes"));
    const [first, second] = round % 2 === 0 ? [write, reset] : [reset, write];
    const begun = first();
    for (let turn = 0; turn < round % 6; turn++) await new Promise(setImmediate);
    await Promise.all([begun, second()]);
  }
  await settle();
  let labelled = false;
  let isRunning = false;
  for (const { event } of files.records()) {
    if (event.kind === "decision" && event.outcome === "allowed") [labelled, isRunning] = [true, true];
    if (event.kind === "result") isRunning = false;
    if (event.kind !== "label_reset") continue;
    assert.equal(isRunning, false, "reset while a box that may write there ran");
    labelled = false;
  }
  assert.equal(rig.states.pathLabels.length, labelled ? 1 : 0);
  const folded = new SessionStates();
  for (const record of files.records()) folded.apply(record);
  assert.deepEqual(folded.pathLabels, rig.states.pathLabels);
});

test("on admin.sock the owner sees the labels at, above and below a path, and is told when a reset has to wait", async () => {
  await using served = await serve({}, { opening: SECRET });
  const { files, rig } = served;
  files.grant("write", "write_file", "auto", 'max_taint = "secret"\nif_untrusted = "auto"');
  files.grant("shell", "shell", "auto", 'max_taint = "secret"\nif_untrusted = "auto"', [files.at("work")]);
  await taintedWrites(rig, "a", "b");
  await rig.send("shell", { command: "true" }, { session: "tainted" }).outcome;
  const show = async (path: ReturnType<BoxFiles["at"]>): Promise<unknown> =>
    (await ask(served.admin, { kind: "label_show", body: { path } })).body;
  const below = [files.at("notes/a"), files.at("notes/b")].map((path) => ({ path, label: SECRET }));
  assert.deepEqual(await show(files.at("notes")), { path: files.at("notes"), label: null, above: [], below, more: 0, owner: null });
  const above = [{ path: files.at("work"), label: SECRET }];
  assert.deepEqual(await show(files.at("work/x")), {
    path: files.at("work/x"),
    label: null,
    above,
    below: [],
    more: 0,
    owner: null,
  });
  assert.deepEqual(await ask(served.admin, { kind: "label_reset", body: { path: files.at("notes") } }), { kind: "ok", body: {} });
  const held = untilToldOrKilled();
  rig.runtime.answer = held.answer;
  const sent = rig.write("a", { session: "tainted" });
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  const busy = await ask(served.admin, { kind: "label_reset", body: { path: files.at("notes") } });
  assert.ok(busy.kind === "error" && busy.body.code === "busy");
  held.end();
  await sent.outcome;
});
