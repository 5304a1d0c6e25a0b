/** Whether a brokerd that is busy for a while holds more and more. */
import type { Figure } from "../figure/figure.ts";
import { median } from "../figure/sample.ts";
import { Caller, type CallKind } from "./caller.ts";
import type { ServedBroker } from "./served-broker.ts";

const SESSIONS = 64;
const SECONDS = 40;
const KINDS: readonly CallKind[] = ["denied", "allowed", "denied", "asked"];

/** Looks once a second; the first quarter is for what is filled once, caches and the collector's share. */
export async function measureSoak(broker: ServedBroker): Promise<readonly Figure[]> {
  const before = broker.descriptors;
  let isOver = false;
  let calls = 0;
  const load = Array.from({ length: SESSIONS }, async (_, index) => {
    const caller = new Caller(broker, `soak-${index}`);
    for (; !isOver; calls++) await caller.call(KINDS[calls % KINDS.length] ?? "denied");
  });
  const held: number[] = [];
  const open: number[] = [];
  for (let second = 0; second < SECONDS; second++) {
    await new Promise((wake) => setTimeout(wake, 1000));
    const { residentBytes, descriptors } = broker;
    if (residentBytes === undefined || descriptors === undefined) break;
    held.push(residentBytes);
    open.push(descriptors);
  }
  isOver = true;
  await Promise.all(load);
  const counted: Figure = { name: "soak_calls", value: calls, unit: "count", against: null };
  if (before === undefined || held.length < SECONDS) return [counted];
  // Its own side of the last connections may be closing still.
  for (let tries = 0; (broker.descriptors ?? 0) > before && tries < 50; tries++) await new Promise((wake) => setTimeout(wake, 100));
  const quarter = (list: readonly number[], which: number): number =>
    median(list.slice((which * SECONDS) / 4, ((which + 1) * SECONDS) / 4));
  const against = `median of the last quarter of ${SECONDS} s to the second's, ${SESSIONS} sessions`;
  return [
    counted,
    { name: "soak_rss_growth", value: quarter(held, 3) / quarter(held, 1), unit: "ratio", against },
    { name: "soak_rss", value: quarter(held, 3) / 2 ** 20, unit: "MiB", against: null },
    { name: "soak_descriptors_growth", value: quarter(open, 3) / quarter(open, 1), unit: "ratio", against },
    { name: "soak_descriptors_left", value: (broker.descriptors ?? before) - before, unit: "count", against: "before the load" },
  ];
}
