import assert from "node:assert/strict";
import { test } from "node:test";
import { readWish } from "../../src/chat/wish.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";

test("a line is a message, a command, or a mistake that says what was expected", () => {
  assert.deepEqual(readWish("  "), { kind: "nothing" });
  assert.deepEqual(readWish(" /quit "), { kind: "quit" });
  assert.deepEqual(readWish("/help"), { kind: "help" });
  assert.deepEqual(readWish("/compact "), { kind: "compact" });
  assert.equal(readWish("/compact now").kind, "mistake");
  assert.deepEqual(readWish(" hello "), { kind: "say", text: " hello " });
  assert.deepEqual(readWish("//allow x"), { kind: "say", text: "/allow x" });
  assert.equal(readWish("/allowed").kind, "mistake");
  assert.equal(readWish("x".repeat(1024 * 1024 + 1)).kind, "mistake");
});

test("/allow takes a tool, a scope that may hold blanks, and how often", () => {
  assert.deepEqual(readWish("/allow write_file /home/me/notes"), {
    kind: "allow",
    tool: "write_file",
    scope: "/home/me/notes",
    uses: null,
  });
  assert.deepEqual(readWish("/allow  http_fetch  *.example.com  uses  12"), {
    kind: "allow",
    tool: "http_fetch",
    scope: "*.example.com",
    uses: 12,
  });
  assert.deepEqual(readWish("/allow read_file /srv/my notes uses 1 uses 2"), {
    kind: "allow",
    tool: "read_file",
    scope: "/srv/my notes uses 1",
    uses: 2,
  });
});

test("what /allow can't take is a mistake, in one printable line", () => {
  for (const line of [
    "/allow",
    "/allow shell",
    "/allow launch /srv",
    "/allow shell /srv uses 0",
    "/allow shell /srv uses -1",
    "/allow shell /srv uses ２",
    "/allow shell /srv uses 9999999999999999",
    ...HOSTILE.map((text) => `/allow x${text} /srv`),
    ...HOSTILE.map((text) => `/allow shell /srv uses ${text.replace(/\s/gu, "")}`),
    ...HOSTILE.map((text) => `/x${text}`),
  ]) {
    const wish = readWish(line);
    assert.ok(wish.kind === "mistake", line);
    assert.equal(findUnsafe(wish.problem), undefined);
    assert.doesNotMatch(wish.problem, /\n/u);
  }
});
