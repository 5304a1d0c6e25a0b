/** brokerd killed at any moment: what it has answered is in the log, nothing has run that isn't, and the log goes on. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SANDBOXES } from "./runner/sandboxes.ts";
import { KilledBox, LOAD_SESSIONS } from "./support/killed-box.ts";

/** The bench kills a thousand times. */
const LIVES = 8;
const BOXES = 2;

test(`after each of ${BOXES * LIVES} kills under ${LOAD_SESSIONS} sessions the log follows, and no answer and no deed is missing in it`, async () => {
  // A start mostly waits for the compiler otherwise.
  const cache = mkdtempSync(join(tmpdir(), "boxmaker-cache-"));
  try {
    const checks = await Promise.all(
      Array.from({ length: BOXES }, async () => {
        await using box = new KilledBox({ environment: { NODE_COMPILE_CACHE: cache } });
        await box.finish();
        for (let life = 0; life < LIVES; life++) await box.life();
        await box.finish();
        return { check: box.check, answers: box.answers, leftovers: box.leftovers };
      }),
    );
    for (const { check, answers, leftovers } of checks) {
      assert.deepEqual([check.lost, check.unrecorded, check.unsound, leftovers], [[], [], [], []]);
      assert.ok(answers > LOAD_SESSIONS && check.actions > 0, `${answers} answers, ${check.actions} runs`);
    }
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

/** A start with a sandbox takes seconds; the bench kills a hundred times. */
const SANDBOX_LIVES = 2;

for (const sandbox of SANDBOXES) {
  test(`after each of ${SANDBOX_LIVES} kills under load with ${sandbox.name} nothing of a box is left, and no answer and no deed is missing in the log`, {
    skip: sandbox.skip,
  }, async () => {
    await using box = new KilledBox({ sandbox });
    for (let life = 0; life < SANDBOX_LIVES; life++) await box.life(false);
    await box.finish();
    const { lost, unrecorded, unsound } = box.check;
    assert.deepEqual([box.leftovers, lost, unrecorded, unsound], [[], [], [], []]);
    assert.equal(box.kills, SANDBOX_LIVES);
    assert.ok(box.check.actions >= SANDBOX_LIVES, `${box.check.actions} runs`);
  });
}
