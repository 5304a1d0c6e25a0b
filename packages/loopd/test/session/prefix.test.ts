/** Where the first turns of a session end, whatever its epochs carried over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EpochOnDisk, SessionStart } from "@boxmaker/edge/session-files";
import { type EpochEnd, SessionRecord, sha256, timestampFromMillis } from "@boxmaker/proto";
import { findPrefix } from "../../src/session/prefix.ts";

const time = timestampFromMillis(0);
const USAGE = { prompt: 1, completion: 1, cached: null };
const user = (text: string): SessionRecord => ({ kind: "user", time, text });
const answer = (content: string): SessionRecord => ({
  kind: "assistant",
  content,
  reasoning: "",
  thinking_capped: false,
  tool_calls: [],
});
const sent = (call: number): SessionRecord => SessionRecord.parse({ kind: "call_sent", call, id: "x", tool: "shell" });

/** An epoch with its number as its system prompt. */
function epoch(number: number, records: readonly SessionRecord[], carry: EpochEnd["carry"] | null): EpochOnDisk {
  const start: SessionStart = {
    kind: "session_start",
    version: 1,
    time,
    epoch: number,
    origin: "terminal",
    slot: 0,
    baseline: sha256(String(number)),
  };
  const end: EpochEnd | undefined =
    carry === null ? undefined : { kind: "epoch_end", carry, shortened: null, summary: "so far", usage: USAGE };
  return { start, baseline: { version: 1, memory: false, system: String(number), tools: "[]" }, records, end, length: 0 };
}

function found(epochs: readonly EpochOnDisk[], turn: number) {
  const prefix = findPrefix(epochs, turn);
  const said = prefix?.records.flatMap((record) => (record.kind === "user" ? [record.text] : []));
  return prefix && { epoch: prefix.baseline.system, said, call: prefix.call, turns: prefix.turns };
}

test("the end of a summed-up turn is the summary, unless that is of the turn behind it, too", () => {
  const first = [user("1"), answer("a"), user("2"), sent(1)];
  // The summary is of the first turn.
  const carried = [epoch(0, first, "turn"), epoch(1, [user("2"), sent(1), answer("b")], null)];
  assert.deepEqual(found(carried, 1), { epoch: "1", said: [], call: 0, turns: 2 });
  assert.deepEqual(found(carried, 2), { epoch: "1", said: ["2"], call: 1, turns: 2 });
  // The summary is of the second turn, too: who goes back to before that doesn't want it.
  const message = [epoch(0, first, "message"), epoch(1, [user("2"), answer("b")], null)];
  assert.deepEqual(found(message, 1), { epoch: "0", said: ["1"], call: 0, turns: 2 });
  assert.deepEqual(found(message, 2), { epoch: "1", said: ["2"], call: 1, turns: 2 });
  const twice = [epoch(0, first, "turn"), epoch(1, [user("2"), sent(1)], "message"), epoch(2, [user("2"), answer("b")], null)];
  assert.equal(found(twice, 1)?.epoch, "1");
  assert.equal(found(twice, 2)?.epoch, "2");
});
