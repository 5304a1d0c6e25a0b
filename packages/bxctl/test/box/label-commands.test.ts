import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminAnswer } from "@boxmaker/proto";
import type { BoxCommand } from "../../src/box/box-commands.ts";
import { resetLabel, showLabel } from "../../src/box/label-commands.ts";
import { findUnsafe } from "../support/corpus.ts";
import { GrantsHome } from "../support/grants-home.ts";
import { listenAdmin } from "../support/scripted-server.ts";

async function run(answer: unknown, command: (at: BoxCommand) => Promise<number>, json = false) {
  await using home = await GrantsHome.make();
  await using admin = await listenAdmin(home.at("run/admin/admin.sock"), () => AdminAnswer.parse(answer));
  return { ...(await home.run(command, json)), request: admin.requests[0] };
}

const SECRET = { taint: "secret", untrusted: false };
const PRIVATE = { taint: "private", untrusted: true };
const REPORT = {
  kind: "label_report",
  body: {
    path: "/srv/notes",
    label: PRIVATE,
    above: [{ path: "/srv", label: SECRET }],
    below: [{ path: "/srv/notes/a \u202e", label: PRIVATE }],
    more: 3,
    owner: SECRET,
  },
};

test("label show has the label of the path, those above and below it, and the owner's", async () => {
  const plain = { ...REPORT, body: { ...REPORT.body, below: [{ path: "/srv/notes/a", label: PRIVATE }] } };
  const { status, out, err, request } = await run(plain, (at) => showLabel(at, "/srv/notes"));
  assert.deepEqual([status, err, request], [0, "", { kind: "label_show", body: { path: "/srv/notes" } }]);
  assert.equal(
    out,
    [
      '"/srv/notes":',
      '  here    "/srv/notes": private, untrusted',
      '  above   "/srv": secret',
      '  below   "/srv/notes/a": private, untrusted',
      "          and 3 more below",
      '  yours   "/srv/notes": secret',
      "",
    ].join("\n"),
  );
  const none = { kind: "label_report", body: { path: "/srv/x", label: null, above: [], below: [], more: 0, owner: null } };
  assert.equal(
    (await run(none, (at) => showLabel(at, "/srv/x"))).out,
    '"/srv/x": no label: nothing that a box wrote is known there\n',
  );
  assert.deepEqual(JSON.parse((await run(plain, (at) => showLabel(at, "/srv/notes"), true)).out), plain.body);
});

test("no path of a box can steer the terminal", async () => {
  for (const json of [false, true]) {
    assert.equal(findUnsafe((await run(REPORT, (at) => showLabel(at, "/srv/notes"), json)).out), undefined);
  }
});

test("label reset is asked of brokerd, which records it", async () => {
  const ok = { kind: "ok", body: {} };
  const { status, out, request } = await run(ok, (at) => resetLabel(at, "/srv/notes"));
  assert.deepEqual([status, request], [0, { kind: "label_reset", body: { path: "/srv/notes" } }]);
  assert.match(out, /^"\/srv\/notes": labels there and below are taken back/u);
  assert.deepEqual(JSON.parse((await run(ok, (at) => resetLabel(at, "/srv/notes"), true)).out), { path: "/srv/notes" });
  const busy = { kind: "error", body: { code: "busy", detail: "a box that may write there is running" } };
  const refused = await run(busy, (at) => resetLabel(at, "/srv/notes"));
  assert.deepEqual(
    [refused.status, refused.out, refused.err],
    [1, "", "bxctl: brokerd: busy: a box that may write there is running\n"],
  );
  assert.equal((await run(busy, (at) => showLabel(at, "/srv/notes"))).status, 1);
});

test("what is no path is status 2, and nothing is asked", async () => {
  for (const path of ["notes", "", "/a/../b", "/a/", "/a\u001b"]) {
    for (const command of [showLabel, resetLabel]) {
      const { status, out, err, request } = await run({ kind: "ok", body: {} }, (at) => command(at, path));
      assert.deepEqual([status, out, request], [2, "", undefined]);
      assert.match(err, /is no path of a label/u);
      assert.equal(findUnsafe(err), undefined);
    }
  }
});
