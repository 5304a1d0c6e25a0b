/** When a sync may be waited for on the spot. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SyncPace } from "../../src/audit/sync-pace.ts";

/** How many syncs of `ms` milliseconds are seen before one may be waited for. */
function countUntilQuick(pace: SyncPace, ms: number): number {
  let count = 0;
  for (; !pace.isQuick; count++) pace.took(ms);
  return count;
}

test("a disk that nothing is known of has to be seen quick first, up to a millisecond", () => {
  assert.equal(countUntilQuick(new SyncPace(), 1), 4);
  const slow = new SyncPace();
  for (let count = 0; count < 100; count++) slow.took(1.01);
  assert.equal(countUntilQuick(slow, 0.3), 5);
});

test("four quick syncs have to follow each millisecond of a slow one, and of several the slowest counts", () => {
  for (const [slow, owed] of [
    [1.5, 6],
    [50, 200],
    [1000.1, 4001],
  ] as const) {
    const pace = new SyncPace(0);
    pace.took(slow);
    assert.ok(!pace.isQuick);
    pace.took(1.5);
    assert.equal(countUntilQuick(pace, 0.3), owed);
  }
});

test("a pace can be known from the start", () => {
  assert.ok(new SyncPace(0).isQuick);
  const never = new SyncPace(Number.POSITIVE_INFINITY);
  never.took(0);
  assert.ok(!never.isQuick);
});
