/** brokerd killed at any moment: what it has answered is in the log, and the log goes on. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { Client } from "./support/client.ts";
import { adminOf, brokerOf, Daemon } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

const LIVES = 12;
const SESSIONS = 16;

interface Answered {
  readonly session: string;
  readonly call: number;
  readonly outcome: string;
}

function requestOf(files: BoxFiles, session: string, call: number): BrokerRequest {
  const path = files.at(`notes/${call % 3}`);
  const [tool, args] =
    call % 4 === 3 ? (["write_file", { path, content: "x".repeat(3000) }] as const) : (["read_file", { path }] as const);
  const body = { session: SessionId.parse(session), call: CallId.parse(call), tool, arguments: JSON.stringify(args) };
  return { kind: "tool_request", body };
}

/** One session's calls, one after the other, until brokerd is gone. Asks are left as soon as they are told. */
async function talk(files: BoxFiles, session: string, from: number, answer: (answered: Answered) => void): Promise<number> {
  for (let call = from; ; call++) {
    try {
      using client = await Client.request(brokerOf(files), requestOf(files, session, call));
      client.socket.on("error", () => undefined);
      const first = await client.next();
      if (first === undefined) return call + 1;
      if (first.message.kind === "tool_response") answer({ session, call, outcome: first.message.body.outcome });
      else if (first.message.kind === "pending_approval") answer({ session, call, outcome: "pending" });
    } catch {
      // brokerd is gone; whether it took this call is unknown, so its number isn't used again.
      return call + 1;
    }
  }
}

test(`after each of ${LIVES} kills under load the log is whole, and no decision that was answered is missing`, async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  const answered: Answered[] = [];
  const answers = new EventEmitter();
  const answer = (one: Answered): void => {
    answered.push(one);
    answers.emit("answer");
  };
  let next: readonly number[] = Array.from({ length: SESSIONS }, () => 0);
  for (let life = 0; life < LIVES; life++) {
    await using daemon = Daemon.serve(files, "", {});
    // It reads the whole log before this, and refuses one that doesn't follow.
    await daemon.ready;
    const talking = next.map((call, index) => talk(files, `s-${index}`, call, answer));
    // After another number of answers in each life: where the other sessions' calls are then is up to the machine, and all of it has to be right.
    const enough = answered.length + 3 * life;
    while (answered.length < enough) await once(answers, "answer");
    daemon.kill("SIGKILL");
    await daemon.ended;
    next = await Promise.all(talking);
  }
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  assert.ok(answered.length > SESSIONS);
  const records = files.records();
  const decisions = new Map<string, { seq: number; event: { outcome: string } }>(
    records.flatMap(({ seq, event }) =>
      event.kind === "decision" ? [[`${event.session} ${event.call}`, { seq, event }] as const] : [],
    ),
  );
  const results = new Set(files.events("result").map(({ decision }) => Number(decision)));
  for (const { session, call, outcome } of answered) {
    const decision = decisions.get(`${session} ${call}`);
    assert.ok(decision !== undefined, `the decision of ${session} ${call} is missing`);
    if (outcome === "failed") assert.ok(results.has(decision.seq), `the result of ${session} ${call} is missing`);
    if (outcome === "pending") assert.equal(decision.event.outcome, "ask");
  }
  const asks = records.flatMap(({ seq, event }) => (event.kind === "decision" && event.outcome === "ask" ? [Number(seq)] : []));
  assert.deepEqual(
    files
      .events("approval")
      .map(({ decision }) => Number(decision))
      .sort((a, b) => a - b),
    asks,
    "every ask has exactly one end",
  );
  using status = await Client.request(adminOf(files), { kind: "status", body: {} });
  const report = await status.final();
  assert.equal(report.kind === "status_report" && report.body.pending, 0);
});
