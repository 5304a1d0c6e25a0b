/** Every pair of ways that an ask can end, at the same moment: exactly one wins, and the log has exactly its record. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminAnswer, ApprovalId } from "@boxmaker/proto";
import { BoxFiles, Rig, type SentCall, settle } from "../support/rig.ts";

const ROUNDS = 128;
const AT_ONCE = 64;
const TTL_MS = 1000;

type Ending = "approve" | "refuse" | "expire" | "gone";
const ENDINGS: readonly Ending[] = ["approve", "refuse", "expire", "gone"];

/** After this many turns of the event loop the second one comes, so that it meets the first at every step. */
const DELAYS = [0, 0, 1, 2, 3, 5];

async function end(rig: Rig, ending: Ending, id: ApprovalId, sent: SentCall): Promise<AdminAnswer | undefined> {
  switch (ending) {
    case "approve": {
      const shown = rig.table.get(id);
      return shown === undefined ? undefined : rig.approvals.approve(id, shown.ask.digest, { by: "bxctl", user: null });
    }
    case "refuse":
      return rig.refuse(id);
    case "expire":
      rig.clock.advance(TTL_MS);
      return undefined;
    case "gone":
      sent.leave();
      return undefined;
    default:
      throw new Error(ending satisfies never);
  }
}

function won(answer: AdminAnswer | undefined): boolean {
  return answer?.kind === "ok" || (answer?.kind === "approve_result" && answer.body.outcome === "ask");
}

for (const [index, first] of ENDINGS.entries()) {
  for (const second of ENDINGS.slice(index)) {
    test(`${first} and ${second} of the same ask: one winner and one record, ${ROUNDS} rounds`, async () => {
      using files = new BoxFiles();
      files.grant("write", "write_file", "ask");
      await using rig = await Rig.open(files, { ttlMs: TTL_MS, maxPending: ROUNDS });
      let wins = 0;
      let ran = 0;
      for (let from = 0; from < ROUNDS; from += AT_ONCE) {
        // Each batch waits at the same time; expiry is for all of it, so it is raced against all of it.
        const batch = Array.from({ length: AT_ONCE }, (_, offset) => rig.write("a", { session: `s-${from + offset}` }));
        const ids = await Promise.all(batch.map(({ pending }) => pending));
        const answers = await Promise.all(
          batch.map(async (sent, offset) => {
            const id = ids[offset] ?? assert.fail();
            const pair = offset % 2 === 0 ? [first, second] : [second, first];
            const [one, two] = pair;
            const before = end(rig, one ?? assert.fail(), id, sent);
            for (let turn = 0; turn < (DELAYS[offset % DELAYS.length] ?? 0); turn++) await new Promise(setImmediate);
            return [await before, await end(rig, two ?? assert.fail(), id, sent)];
          }),
        );
        const outcomes = await Promise.all(batch.map(({ outcome }) => outcome));
        await settle();
        for (const [offset, [one, two]] of answers.entries()) {
          assert.ok(!(won(one) && won(two)), "both were told that they won");
          if (won(one) || won(two)) wins++;
          const outcome = outcomes[offset];
          if (typeof outcome === "object" && outcome.outcome === "result") ran++;
        }
      }
      assert.equal(rig.table.size, 0);
      assert.equal(rig.ledger.running, 0);
      const decisions = files.records().filter(({ event }) => event.kind === "decision");
      const ends = files.events("approval");
      assert.equal(decisions.length, ROUNDS);
      assert.deepEqual(
        ends.map(({ decision }) => Number(decision)).sort((a, b) => a - b),
        decisions.map(({ seq }) => Number(seq)),
      );
      const approved = ends.filter(({ answer }) => answer === "approved");
      const refused = ends.filter(({ answer }) => answer === "refused");
      assert.equal(wins, approved.length + refused.length);
      // An approved call whose requester left at the last moment has a result all the same: that it didn't run.
      assert.equal(files.events("result").length, approved.length);
      assert.equal(rig.runtime.runs.length, ran);
      assert.ok(ran <= approved.length);
    });
  }
}
