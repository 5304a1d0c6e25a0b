/** What loopd's client, and inferproxy before it, add to a stream: beside a bare read of the same stream. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Figure } from "./figure/figure.ts";
import { median, quantile } from "./figure/sample.ts";
import { Reading } from "./stream/reading.ts";
import { type Pace, StreamServer, wishOf } from "./stream/stream-server.ts";

const READER = fileURLToPath(new URL("./stream/reader-program.ts", import.meta.url));
const PROXY = fileURLToPath(new URL("../packages/inferproxy/src/main.ts", import.meta.url));

const PACED_EVENTS = 1_000;
const BURST_EVENTS = 100_000;
const ROUNDS = 2;
const BARE = "a bare read of the same stream";

type Reader = "bare" | "client";

async function read(how: Reader, socketPath: string, pace: Pace, events: number): Promise<Reading> {
  const child = spawn(process.execPath, [READER, how, socketPath, wishOf(pace, events)], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (child.exitCode !== 0) throw new Error(`the ${how} reader ended with ${child.exitCode}`);
  const reading = Reading.parse(JSON.parse(said));
  if (reading.latencies.length !== events) throw new Error(`expected ${events} events, got ${reading.latencies.length}`);
  return reading;
}

async function startProxy(directory: string, port: number): Promise<AsyncDisposable & { readonly path: string }> {
  const path = join(directory, "proxy", "infer.sock");
  const child = spawn(process.execPath, [PROXY, "--listen", path, "--upstream", `http://127.0.0.1:${port}`], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {},
  });
  const closed = once(child, "close");
  await Promise.race([once(child.stdout, "data"), closed.then(() => Promise.reject(new Error("inferproxy ended early")))]);
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await closed;
    },
  };
}

/** One way to the stream, and what its figures are called. */
interface Way {
  readonly prefix: string;
  readonly reader: Reader;
  readonly path: string;
}

const mb = (figures: readonly Reading[]): number => median(figures.map(({ maxRssMb }) => maxRssMb));

/** Each way beside the bare read, in turn, so that a machine that gets slower slows all of them. */
async function measure(bare: Way, ways: readonly Way[]): Promise<readonly Figure[]> {
  const all = [bare, ...ways];
  const paced = new Map<Way, Reading[]>(all.map((way) => [way, []]));
  const burst = new Map<Way, Reading[]>(all.map((way) => [way, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of all) {
      paced.get(way)?.push(await read(way.reader, way.path, "paced", PACED_EVENTS));
      burst.get(way)?.push(await read(way.reader, way.path, "burst", BURST_EVENTS));
    }
  }
  const latency = (way: Way, share: number): number => median((paced.get(way) ?? []).map((one) => quantile(one.latencies, share)));
  const rate = (way: Way): number => BURST_EVENTS / (median((burst.get(way) ?? []).map(({ ms }) => ms)) / 1000);
  return ways.flatMap((way): readonly Figure[] => [
    { name: `${way.prefix}added_p50_ms`, value: latency(way, 0.5) - latency(bare, 0.5), unit: "ms", against: BARE },
    { name: `${way.prefix}added_p99_ms`, value: latency(way, 0.99) - latency(bare, 0.99), unit: "ms", against: BARE },
    { name: `${way.prefix}events_per_s`, value: rate(way), unit: "events/s", against: null },
    { name: `${way.prefix}events_per_s_vs_bare`, value: rate(way) / rate(bare), unit: "ratio", against: BARE },
    {
      name: `${way.prefix}memory_added_100000_events`,
      value: mb(burst.get(way) ?? []) - mb(paced.get(way) ?? []),
      unit: "MB",
      against: `a reply of ${PACED_EVENTS} events, at the highest`,
    },
  ]);
}

export async function run(): Promise<readonly Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), "bench-stream-"));
  try {
    const path = join(directory, "model.sock");
    await using _served = await StreamServer.listen(path);
    await using upstream = await StreamServer.listen(0);
    await using proxy = await startProxy(directory, upstream.port);
    return await measure({ prefix: "bare_", reader: "bare", path }, [
      { prefix: "", reader: "client", path },
      { prefix: "proxied_", reader: "client", path: proxy.path },
    ]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
