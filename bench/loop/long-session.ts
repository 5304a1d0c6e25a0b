/** Opening a long session, appending to it, and putting its next request together: each grows with the conversation and no faster. */
import { systemClock } from "@boxmaker/edge/log";
import { AbsPath, SessionId } from "@boxmaker/proto";
import { buildBody } from "../../packages/loopd/src/model/request-body.ts";
import type { Session } from "../../packages/loopd/src/session/session.ts";
import { SessionStore } from "../../packages/loopd/src/session/session-store.ts";
import { History } from "../../packages/loopd/src/turn/history.ts";
import { TestHome } from "../../packages/loopd/test/support/home.ts";
import type { Figure } from "../figure/figure.ts";
import { median } from "../figure/sample.ts";
import { BASELINE, conversationOf } from "./conversation.ts";

const LENGTHS = [100, 1_000] as const;
const ROUNDS = 20;
const SERVER = { kind: "llama-server", slots: 1, context: 262_144, templateSha256: "", build: "" } as const;

interface Times {
  readonly open: number[];
  readonly append: number[];
  readonly request: number[];
}

async function timed(times: number[], work: () => unknown): Promise<void> {
  const started = performance.now();
  await work();
  times.push(performance.now() - started);
}

async function measureOnce(store: SessionStore, id: SessionId, times: Times): Promise<void> {
  let opened: Session | undefined;
  await timed(times.open, async () => {
    opened = await store.open(id);
  });
  if (opened === undefined) return;
  await using session = opened;
  await timed(times.append, () => session.append({ kind: "cancelled", reason: "measured" }));
  const settings = { model: "default", sampling: { thinking: true, max_tokens: 8_192 }, thinkingCap: 4_096 };
  await timed(times.request, () => {
    const { messages } = new History(session.baseline, session.records);
    return buildBody(settings, SERVER, { messages, tools: session.baseline.tools, slot: 0 });
  });
}

export async function measureLongSession(): Promise<readonly Figure[]> {
  await using home = await TestHome.make();
  const store = new SessionStore(AbsPath.parse(home.at("sessions")), systemClock);
  await store.prepare();
  const all = LENGTHS.map((turns) => ({
    turns,
    id: SessionId.parse(`long-${turns}`),
    times: { open: [], append: [], request: [] } as Times,
  }));
  for (const { turns, id } of all) {
    const made = await store.create({ id, origin: "terminal", slot: 0, baseline: BASELINE, records: conversationOf(turns) });
    await made[Symbol.asyncDispose]();
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const { id, times } of all) await measureOnce(store, id, times);
  }
  const [short, long] = all;
  if (short === undefined || long === undefined) throw new Error("expected two lengths");
  const against = "a session of 100 turns, which is a tenth";
  const ratio = (name: string, kind: keyof Times): Figure => ({
    name,
    value: median(long.times[kind]) / median(short.times[kind]),
    unit: "times",
    against,
  });
  return [
    { name: "open_1000_turns_ms", value: median(long.times.open), unit: "ms", against: null },
    ratio("open_1000_vs_100", "open"),
    { name: "append_1000_turns_ms", value: median(long.times.append), unit: "ms, durable", against: null },
    ratio("append_1000_vs_100", "append"),
    { name: "next_request_ms", value: median(long.times.request), unit: "ms to put 1,000 turns together", against: null },
    ratio("next_request_1000_vs_100", "request"),
  ];
}
