import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ConnectionLimits } from "../src/limits/connection-limits.ts";
import { TokenBucket } from "../src/limits/token-bucket.ts";
import { FakeClock } from "./support/fake-clock.ts";

test("TokenBucket gives its burst at once and then nothing until a whole token is there again", () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, 2, 3);
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false]);
  clock.advance(499);
  assert.equal(bucket.take(), false);
  clock.advance(1);
  assert.equal(bucket.take(), true);
  assert.equal(bucket.take(), false);
});

test("TokenBucket never holds more than its burst, however long it is left alone", () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, 1000, 2);
  clock.advance(10_000_000_000);
  assert.deepEqual([bucket.take(), bucket.take(), bucket.take()], [true, true, false]);
});

test("TokenBucket gives nothing for a clock that goes back", () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket(clock, 1, 1);
  assert.equal(bucket.take(), true);
  clock.advance(-5000);
  assert.equal(bucket.take(), false);
});

test("TokenBucket fills by the time that passed, in however many steps it passed", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { maxLength: 40 }), fc.integer({ min: 1, max: 50 }), (steps, rate) => {
      const clock = new FakeClock();
      const bucket = new TokenBucket(clock, rate, 1);
      bucket.take();
      let passedMs = 0;
      for (const step of steps) {
        clock.advance(step);
        passedMs += step;
        if (passedMs * rate < 1000) {
          assert.equal(bucket.take(), false);
        }
      }
      if (passedMs * rate >= 1000) {
        assert.equal(new TokenBucket(clock, rate, 1).take(), true);
      }
    }),
  );
});

test("ConnectionLimits refuses above the cap, and takes again when a place was freed once or more", () => {
  const limits = new ConnectionLimits(new FakeClock(), { maxConnections: 1, ratePerSecond: 1, burst: 100 });
  const first = limits.admit();
  assert.ok(first.kind === "admitted");
  assert.deepEqual(limits.admit(), { kind: "refused", reason: "connections", firstInRow: true });
  first.place.free();
  first.place.free();
  assert.equal(limits.admit().kind, "admitted");
  assert.equal(limits.admit().kind, "refused");
});

test("ConnectionLimits judges the rate before the cap, and a connection refused for the cap has used up a token", () => {
  const clock = new FakeClock();
  const limits = new ConnectionLimits(clock, { maxConnections: 1, ratePerSecond: 1, burst: 2 });
  assert.equal(limits.admit().kind, "admitted");
  assert.deepEqual(limits.admit(), { kind: "refused", reason: "connections", firstInRow: true });
  assert.deepEqual(limits.admit(), { kind: "refused", reason: "rate", firstInRow: true });
  assert.deepEqual(limits.admit(), { kind: "refused", reason: "rate", firstInRow: false });
  clock.advance(1000);
  assert.deepEqual(limits.admit(), { kind: "refused", reason: "connections", firstInRow: true });
});
