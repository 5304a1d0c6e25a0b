/** What one call costs through the socket, beside one bare sync of as many bytes; and what many sessions at once make of it. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import type { Figure } from "../figure/figure.ts";
import { median, quantile } from "../figure/sample.ts";
import { Caller, type CallKind } from "./caller.ts";
import type { ServedBroker } from "./served-broker.ts";

const SAMPLES = 600;
const WARM = 100;
/** What a denied call's record has, about. */
const LINE = Buffer.alloc(640, "x");
const CALLS_EACH = 12;

/** One after the other, a sync between every two, so that a disk that gets slower slows both. */
export async function measureSingle(broker: ServedBroker, samples: number = SAMPLES): Promise<readonly Figure[]> {
  const [denied, allowed] = [new Caller(broker, "single-denied"), new Caller(broker, "single-allowed")];
  const times: Record<"sync" | "denied" | "allowed", number[]> = { sync: [], denied: [], allowed: [] };
  const file = openSync(broker.files.at("sync"), "a");
  try {
    for (let sample = -WARM; sample < samples; sample++) {
      const one = { sync: syncOnce(file), denied: await denied.call("denied"), allowed: await allowed.call("allowed") };
      if (sample < 0) continue;
      times.sync.push(one.sync);
      times.denied.push(one.denied);
      times.allowed.push(one.allowed);
    }
  } finally {
    closeSync(file);
  }
  const ratio = (kind: "denied" | "allowed", at: number): number => quantile(times[kind], at) / quantile(times.sync, at);
  const against = `write and fdatasync of ${LINE.length} bytes by the client, at the same percentile, ${samples} of each in turn`;
  const figures = (["denied", "allowed"] as const).flatMap((kind) => [
    { name: `${kind}_p50_vs_sync`, value: ratio(kind, 0.5), unit: "ratio", against },
    { name: `${kind}_p99_vs_sync`, value: ratio(kind, 0.99), unit: "ratio", against },
  ]);
  return [...figures, { name: "sync_p50", value: quantile(times.sync, 0.5), unit: "ms", against: null }];
}

function syncOnce(file: number): number {
  const started = performance.now();
  writeSync(file, LINE);
  fdatasyncSync(file);
  return performance.now() - started;
}

/** So many sessions at once, each sending its next call when it has the answer to the last one. */
export async function measureMany(broker: ServedBroker, sessions: number): Promise<readonly Figure[]> {
  const callers = Array.from({ length: sessions }, (_, index) => new Caller(broker, `many-${sessions}-${index}`));
  // The first call of each opens its session.
  await Promise.all(callers.map((caller) => caller.call("denied")));
  const times: number[] = [];
  const started = performance.now();
  await Promise.all(
    callers.map(async (caller) => {
      for (let call = 0; call < CALLS_EACH; call++) times.push(await caller.call("denied"));
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  return [
    { name: `sessions${sessions}_p50`, value: quantile(times, 0.5), unit: "ms", against: null },
    { name: `sessions${sessions}_p99`, value: quantile(times, 0.99), unit: "ms", against: null },
    { name: `sessions${sessions}_rate`, value: times.length / seconds, unit: "calls/s", against: null },
  ];
}

const FLOOD_CONNECTIONS = 64;
const QUIET_CALLS = 100;

/** A session that floods over many connections, and one that makes a call now and then. */
export async function measureFairness(broker: ServedBroker): Promise<readonly Figure[]> {
  const quiet = new Caller(broker, "quiet");
  const loud = new Caller(broker, "loud");
  const timesOf = async (kind: CallKind): Promise<number[]> => {
    const times: number[] = [];
    for (let call = 0; call < QUIET_CALLS; call++) times.push(await quiet.call(kind));
    return times;
  };
  await timesOf("allowed");
  const alone = await timesOf("allowed");
  let isOver = false;
  const flood: number[] = [];
  const flooding = Array.from({ length: FLOOD_CONNECTIONS }, async () => {
    while (!isOver) flood.push(await loud.call("allowed"));
  });
  const beside = await timesOf("allowed");
  isOver = true;
  await Promise.all(flooding);
  const who = `a session that floods over ${FLOOD_CONNECTIONS} connections`;
  return [
    {
      name: "quiet_p50_beside_flood_vs_flood",
      value: median(beside) / median(flood),
      unit: "ratio",
      against: `a call's p50 of ${who}`,
    },
    {
      name: "quiet_p99_beside_flood_vs_alone",
      value: quantile(beside, 0.99) / quantile(alone, 0.99),
      unit: "ratio",
      against: `the same session without ${who}`,
    },
  ];
}
