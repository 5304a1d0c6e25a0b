/** Fifty conversations with a turn each at the same time, all of which wait for the model: what loopd then holds in memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { reply, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import { AbsPath, SessionId } from "@boxmaker/proto";
import { SessionStore } from "../../packages/loopd/src/session/session-store.ts";
import { TestHome } from "../../packages/loopd/test/support/home.ts";
import { contentOf, LoopClient } from "../../packages/loopd/test/support/loop-client.ts";
import type { Figure } from "../figure/figure.ts";
import { BASELINE, conversationOf } from "./conversation.ts";

const SESSIONS = 50;
const TURNS = 100;
const MAIN = join(import.meta.dirname, "../../packages/loopd/src/main.ts");
const KIB_PER_MB = 1_024;

function rssOf(child: ChildProcess, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${child.pid ?? 0}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "mu").exec(status)?.[1] ?? Number.NaN) / KIB_PER_MB;
}

async function start(config: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, "serve", "--config", config], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  return child;
}

export async function measureMany(): Promise<readonly Figure[]> {
  await using home = await TestHome.make();
  const ids = Array.from({ length: SESSIONS }, (_, index) => SessionId.parse(`s${index}`));
  const store = new SessionStore(AbsPath.parse(home.at("sessions")), systemClock);
  await store.prepare();
  const records = conversationOf(TURNS);
  for (const [slot, id] of ids.entries()) {
    const made = await store.create({ id, origin: "terminal", slot, baseline: BASELINE, records });
    await made[Symbol.asyncDispose]();
  }
  const gate = Promise.withResolvers<void>();
  const [begin, ...rest] = replySteps({ content: "Water them." });
  if (begin === undefined) throw new Error("expected a reply with a beginning");
  await using model = await startModelServer({
    script: ({ index }) =>
      index < SESSIONS ? stream([begin, { kind: "wait", gate: gate.promise }, ...rest]) : reply({ content: "More." }),
    slots: SESSIONS,
    contextTokens: 1_000_000,
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  const loopd = await start(await home.writeConfig());
  const exited = once(loopd, "exit");
  try {
    const idle = rssOf(loopd, "VmRSS");
    const client = new LoopClient(home.at("run/loop/loop.sock"));
    const started = performance.now();
    const turns = ids.map((id) => client.turn(id, "And today?", { resume: true }));
    await model.received(SESSIONS);
    const holding = rssOf(loopd, "VmRSS");
    gate.resolve();
    for (const turn of await Promise.all(turns)) contentOf(turn);
    const took = performance.now() - started;
    return [
      { name: "rss_50_sessions", value: holding, unit: "MB while 50 turns of sessions of 100 turns each run", against: null },
      { name: "rss_50_sessions_vs_idle", value: holding / idle, unit: "times", against: "the same loopd before the first turn" },
      { name: "peak_50_sessions", value: rssOf(loopd, "VmHWM"), unit: "MB at most", against: null },
      { name: "turns_50_sessions_ms", value: took, unit: "ms until all 50 were answered", against: null },
    ];
  } finally {
    loopd.kill("SIGTERM");
    await exited;
  }
}
