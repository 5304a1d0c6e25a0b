import assert from "node:assert/strict";
import { test } from "node:test";
import { measureKills, measureRaces } from "../../bench/broker/faults.ts";
import { measureMany, measureSingle } from "../../bench/broker/latency.ts";
import { ServedBroker } from "../../bench/broker/served-broker.ts";

test("the broker's figures have their names, on a handful of calls, one kill and a few races", async () => {
  await using broker = await ServedBroker.start();
  const figures = [
    ...(await measureSingle(broker, 5)),
    ...(await measureMany(broker, 8)),
    ...(await measureRaces(2)),
    ...(await measureKills(1, [])),
  ];
  const named = new Map(figures.map(({ name, value }) => [name, value]));
  for (const name of ["denied_p50_vs_sync", "denied_p99_vs_sync", "allowed_p50_vs_sync", "allowed_p99_vs_sync", "sessions8_p99"]) {
    assert.ok((named.get(name) ?? 0) > 0, name);
  }
  const counts = ["kills", "acknowledged_lost", "unrecorded_actions", "unsound_logs", "boxes_left", "race_faults"];
  assert.deepEqual(
    counts.map((name) => named.get(name)),
    [1, 0, 0, 0, 0, 0],
  );
  assert.equal(named.get("kills_in_sandboxes"), 0, "the suite has those of its own");
});
