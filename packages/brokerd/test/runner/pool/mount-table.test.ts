import assert from "node:assert/strict";
import { test } from "node:test";
import { hostMountsBelow, mountTable, parseMountTable } from "../../../src/runner/pool/mount-table.ts";
import { absPath } from "../decisions.ts";

test("parseMountTable() reads places with blanks and backslashes, and whether a mount is read-only", () => {
  const lines = [
    "36 35 98:0 /mnt1 /srv/a\\040b\\011c\\134d rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
    "37 35 98:0 / /srv/grüße ro,nosuid - ext3 /dev/root rw",
    "38 35 98:0 / /srv/ro rw,relatime - tmpfs ro ro",
    "",
    "half a line",
  ];
  assert.deepEqual(
    parseMountTable(lines.join("\n")).map(({ at, readOnly }) => [at, readOnly]),
    [
      ["/srv/a b\tc\\d", false],
      ["/srv/grüße", true],
      ["/srv/ro", false],
    ],
  );
});

test("hostMountsBelow() has the mounts at a path and below it, and no others", () => {
  const table = mountTable("self");
  assert.ok(table.some(({ at }) => at === "/proc"));
  const below = hostMountsBelow([absPath("/proc")]).split("\n");
  assert.deepEqual(
    below,
    table.filter(({ at }) => at === "/proc" || at.startsWith("/proc/")).map(({ line }) => line),
  );
  assert.equal(hostMountsBelow([absPath("/pro"), absPath("/proc/self/none")]), "");
});

test("mountTable() of a process that is gone throws", () => {
  assert.throws(() => mountTable(2 ** 30));
});
