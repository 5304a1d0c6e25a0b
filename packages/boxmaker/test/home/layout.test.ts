import assert from "node:assert/strict";
import { test } from "node:test";
import { hasRoomForSockets, layoutOf } from "../../src/home/layout.ts";

test("layoutOf() puts everything below the home, and the sockets where it is told", () => {
  const here = layoutOf("/srv/box");
  assert.ok(here.kind === "ok");
  assert.equal(here.layout.audit, "/srv/box/audit");
  assert.equal(here.layout.sockets.admin, "/srv/box/run/admin/admin.sock");
  const elsewhere = layoutOf("/srv/box", "/tmp/x");
  assert.ok(elsewhere.kind === "ok");
  assert.equal(elsewhere.layout.sockets.broker, "/tmp/x/broker/broker.sock");
  assert.equal(elsewhere.layout.grants, "/srv/box/etc/grants");
});

test("layoutOf() resolves a relative home, and refuses what can't be mounted", () => {
  const relative = layoutOf("a/../b");
  assert.ok(relative.kind === "ok");
  assert.equal(relative.layout.home, `${process.cwd()}/b`);
  for (const home of ["", "/srv/a:b", "/srv/a,b", "/srv/a\nb", "/"]) {
    const refused = layoutOf(home);
    assert.equal(refused.kind, "invalid", home);
    if (refused.kind === "invalid") assert.doesNotMatch(refused.problem, /\n/u);
  }
});

test("hasRoomForSockets() counts bytes against the kernel's limit", () => {
  assert.equal(hasRoomForSockets(`/${"x".repeat(79)}`), true);
  assert.equal(hasRoomForSockets(`/${"x".repeat(80)}`), false);
  assert.equal(hasRoomForSockets(`/${"é".repeat(40)}`), false);
});
