/** What a call costs through brokerd's socket, what many make of it, and what is lost when it is killed. */
import { measureKills, measureRaces } from "./broker/faults.ts";
import { measureFairness, measureMany, measureSingle } from "./broker/latency.ts";
import { ServedBroker } from "./broker/served-broker.ts";
import { measureSoak } from "./broker/soak.ts";
import type { Figure } from "./figure/figure.ts";

const SESSIONS = [64, 1000];

export async function run(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  {
    await using broker = await ServedBroker.start();
    figures.push(...(await measureSingle(broker)));
    for (const sessions of SESSIONS) figures.push(...(await measureMany(broker, sessions)));
    figures.push(...(await measureFairness(broker)));
  }
  {
    await using broker = await ServedBroker.start();
    figures.push(...(await measureSoak(broker)));
  }
  return [...figures, ...(await measureRaces()), ...(await measureKills())];
}
