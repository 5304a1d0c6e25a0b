/** The ways that an ask can end, at the same moment: exactly one wins, everybody is told of that one, and the log has exactly its record. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDINGS, raceEndings } from "../support/races.ts";

/** Ten pairs of it and the four at once: thousands, within seconds. */
const ROUNDS = 192;
const ROUNDS_OF_ALL = 384;

for (const [index, first] of ENDINGS.entries()) {
  for (const second of ENDINGS.slice(index)) {
    test(`${first} and ${second} of the same ask: one winner and one record, ${ROUNDS} rounds`, async () => {
      const { wins, faults } = await raceEndings([first, second], ROUNDS);
      assert.deepEqual(faults, []);
      assert.equal(wins[first] + (first === second ? 0 : wins[second]), ROUNDS);
      // Neither always wins: the rounds do meet.
      assert.ok(wins[first] > 0 && wins[second] > 0);
    });
  }
}

test(`all four of the same ask: one winner and one record, ${ROUNDS_OF_ALL} rounds`, async () => {
  const { wins, faults } = await raceEndings(ENDINGS, ROUNDS_OF_ALL);
  assert.deepEqual(faults, []);
  for (const ending of ENDINGS) assert.ok(wins[ending] > 0, ending);
});
