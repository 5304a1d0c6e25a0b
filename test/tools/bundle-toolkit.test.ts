/** The toolkit's bundle is the same from wherever it's made: podman's image is known by its hash. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");

test("the toolkit's bundle doesn't depend on the folder that it is made from", () => {
  const made = [ROOT, tmpdir()].map((cwd) => {
    const run = spawnSync(process.execPath, [join(ROOT, "tools", "bundle-toolkit.ts")], { cwd, encoding: "utf8" });
    assert.equal(run.status, 0, run.stderr);
    return readFileSync(join(ROOT, "packages", "toolkit", "dist", "toolkit.mjs"), "utf8");
  });
  assert.equal(made[0], made[1]);
});
