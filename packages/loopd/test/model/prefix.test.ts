/** A long session: what was sent once is sent again byte for byte, whatever the model wrote and however a turn ended. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { type Exchange, type ReplyCall, reply, replySteps, stream } from "@boxmaker/demo-model";
import { TestLoop } from "../support/test-loop.ts";

const TURNS = 24;
const RESTART_EVERY = 8;

const CALLS: readonly (readonly ReplyCall[])[] = [
  [],
  [{ name: "clock", arguments: "{}" }],
  [
    { name: "clock", arguments: "{", id: "same" },
    { name: null, arguments: "[1]", id: "same" },
  ],
  [{ name: "no\u2028such\u0000tool", arguments: '{"a":"\ud83e"}', id: null }],
  [{ name: "find_tool", arguments: '{ "query" : "gr\u00fc\u00dfe \\ud83e\\udd80" }' }],
];

/** Every kind of end a reply can have: answered, calls of any sort, cut at its limit, failed in the middle, no reply at all. */
function answerOf(index: number): Exchange {
  const calls = CALLS[index % CALLS.length] ?? [];
  const content = `answer ${index} \u00e4\u0007\u{1f980}`;
  if (index % 7 === 5) return stream([...replySteps({ content }).slice(0, 3), { kind: "cut" }]);
  if (index % 11 === 9) return stream([{ kind: "event", data: { error: { message: "Compute error." } } }]);
  return reply({
    reasoning: index % 2 === 0 ? "Hm \u200b." : "",
    content,
    calls,
    ...(index % 13 === 12 ? { finish: "length" } : {}),
  });
}

function hash(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test("every request of a long session begins with the bytes of the one before it, by their hashes, also after restarts", async () => {
  const toml = "\n[infer]\npoll_ms = 20\nretry_attempts = 1\n";
  await using loop = await TestLoop.start({ model: { script: ({ index }) => answerOf(index), contextTokens: 1_000_000 }, toml });
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn % RESTART_EVERY === RESTART_EVERY - 1) await loop.restart();
    await loop.client.turn("s1", `turn ${turn} \u0000\u2029 text`, turn === 0 ? {} : { resume: true });
  }
  const bodies = loop.model.requests.map(({ body }) => body);
  assert.ok(bodies.length > TURNS, String(bodies.length));
  for (const [index, body] of bodies.slice(1).entries()) {
    const before = bodies[index] ?? Buffer.alloc(0);
    // Without `]}`, after which nothing follows.
    const prefix = before.length - 2;
    assert.equal(hash(body.subarray(0, prefix)), hash(before.subarray(0, prefix)), `request ${index + 1}`);
  }
  assert.deepEqual(loop.model.violations, []);
});
