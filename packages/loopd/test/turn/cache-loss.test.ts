import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionRecord } from "@boxmaker/proto";
import type { Completion } from "../../src/model/completion.ts";
import { findCacheLoss } from "../../src/turn/cache-loss.ts";

const completion = (cacheHit: number | null): Completion => ({
  content: "",
  reasoning: "",
  toolCalls: [],
  cut: false,
  usage: { prompt: 0, completion: 0, cached: cacheHit },
  cacheHit,
  thinkingCapped: false,
});

interface Left {
  readonly capped?: boolean;
  readonly cached?: number | null;
}

function left(prompt: number, written: number, { capped = false, cached = 0 }: Left = {}): readonly SessionRecord[] {
  return [
    { kind: "assistant", content: "", reasoning: "", thinking_capped: capped, tool_calls: [] },
    { kind: "usage", usage: { prompt, completion: written, cached } },
  ];
}

test("findCacheLoss() expects what the last reply left, less the tolerance, and says both numbers", () => {
  assert.deepEqual(findCacheLoss(left(100, 20), completion(107), 12), { expected: 120, cached: 107 });
  assert.equal(findCacheLoss(left(100, 20), completion(108), 12), undefined);
  assert.equal(findCacheLoss(left(100, 20), completion(500), 0), undefined);
});

test("findCacheLoss() expects nothing of the text after a capped thought, which is read again", () => {
  assert.equal(findCacheLoss(left(100, 20, { capped: true }), completion(100), 0), undefined);
  assert.deepEqual(findCacheLoss(left(100, 20, { capped: true }), completion(99), 0), { expected: 100, cached: 99 });
});

test("findCacheLoss() says nothing where a server doesn't count, then or now, or nothing was sent before", () => {
  assert.equal(findCacheLoss(left(100, 20), completion(null), 0), undefined);
  assert.equal(findCacheLoss(left(100, 20, { cached: null }), completion(0), 0), undefined);
  assert.equal(findCacheLoss([], completion(0), 0), undefined);
});
