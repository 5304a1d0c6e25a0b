/** The state that brokerd lives by is the state that the log says, after every history and through every restart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LogFold } from "@boxmaker/policy/analysis";
import { type ApprovalId, CallId, type Hash32, SessionId, ZERO_HASH } from "@boxmaker/proto";
import fc from "fast-check";
import { SessionStates } from "../../src/ledger/session-states.ts";
import type { RunOutcome } from "../../src/runner/runtime.ts";
import { DONE } from "../fakes/recording-runtime.ts";
import { BoxFiles, type GivenGrant, Rig, type RigOptions, type SentCall, settle } from "../support/rig.ts";

const SESSIONS = ["a", "b", "c", "d"].map((name) => SessionId.parse(name));

type Step =
  | {
      readonly kind: "call";
      readonly session: number;
      readonly what: "read" | "secret" | "write" | "shell" | "fetch" | "odd" | "stuck";
    }
  | { readonly kind: "approve" | "refuse" | "leave"; readonly which: number }
  | { readonly kind: "allow" | "close" | "reset" | "rewind"; readonly session: number; readonly which: number }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "restart" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("call" as const),
      session: fc.nat(3),
      what: fc.constantFrom("read", "secret", "write", "shell", "fetch", "odd", "stuck"),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("approve", "refuse", "leave"), which: fc.nat(3) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("allow", "close", "reset", "rewind"),
      session: fc.nat(3),
      which: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(2000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);

function write(files: BoxFiles): void {
  files.grant("read", "read_file", "auto", 'label = "public"\nuses = 3');
  files.grant("wide", "read_file", "auto", "uses = 6", [files.at("notes"), files.at("work")]);
  files.grant("secret", "read_file", "auto", 'label = "secret"\nuntrusted = true', [files.at("secret/a")]);
  files.grant("write", "write_file", "ask", 'max_taint = "secret"\nuses = 4');
  files.grant("shell", "shell", "auto", 'if_untrusted = "ask"\nmax_taint = "secret"', [files.at("work")]);
  files.grant("stuck", "read_file", "auto", 'label = "public"', [files.at("stuck")]);
  files.grant("fetch", "http_fetch", "auto", 'max_taint = "private"');
}

function send(rig: Rig, files: BoxFiles, session: string, what: Extract<Step, { kind: "call" }>["what"]): SentCall {
  const fields = { session };
  switch (what) {
    case "read":
      return rig.read("a", fields);
    case "secret":
      return rig.send("read_file", { path: files.at("secret/a") }, fields);
    case "write":
      return rig.write("a", fields);
    case "shell":
      return rig.send("shell", { command: "true" }, fields);
    case "fetch":
      return rig.send("http_fetch", { url: "https://example.com/" }, fields);
    case "odd":
      return rig.send("read_file", "[]", fields);
    case "stuck":
      return rig.send("read_file", { path: files.at("stuck/a") }, fields);
    default:
      throw new Error(what satisfies never);
  }
}

/** The owner's acts, each with what it needs of the history so far. */
async function act(
  rig: Rig,
  files: BoxFiles,
  { kind, session, which }: Extract<Step, { kind: "allow" | "close" | "reset" | "rewind" }>,
  held: GivenGrant[],
): Promise<void> {
  const id = SESSIONS[session] ?? assert.fail();
  switch (kind) {
    case "allow":
      held.push(rig.allow("read_file", files.at(which === 0 ? "work" : "notes"), { session: id, uses: which + 1 }));
      await held.at(-1)?.allowing;
      return;
    case "close":
      held[which]?.leave();
      return;
    case "reset":
      await rig.ledger.owner.resetLabel(files.at(["notes", "notes/a", "work", "work/deep"][which] ?? "work"));
      return;
    case "rewind": {
      const calls = rig.states.session(id)?.calls.highest ?? 0;
      const to = SessionId.parse(`${id}-${rig.ledger.head}`);
      await rig.approvals.rewind({ session: id, turn: which, call: CallId.parse(Math.max(0, calls - which)), to });
      return;
    }
    default:
      throw new Error(kind satisfies never);
  }
}

/** What each life of brokerd leaves to the next one. */
class Life {
  readonly rig: Rig;
  /** Calls whose boxes haven't ended. */
  readonly stuck: string[] = [];
  waiting: { readonly sent: SentCall; readonly id: ApprovalId; readonly digest: Hash32 }[] = [];

  constructor(rig: Rig) {
    this.rig = rig;
    rig.runtime.answer = ({ request, session, call }, signal) => {
      if (request.tool !== "read_file" || !request.arguments.path.endsWith("/stuck/a")) return DONE;
      this.stuck.push(`${session} ${call}`);
      const { promise, resolve } = Promise.withResolvers<RunOutcome>();
      signal.addEventListener("abort", () => resolve({ kind: "error", code: "cancelled", detail: "killed" }), { once: true });
      return promise;
    };
  }
}

/** The state that the log says; those who take decisions of the past again have a fold of their own, which must come to the same. */
function fold(files: BoxFiles): SessionStates {
  const folded = new SessionStates();
  const replayed = new LogFold();
  const grants = new Set<string>();
  for (const record of files.records()) {
    folded.apply(record);
    replayed.apply(record);
    if (record.event.kind === "decision") for (const { grant } of record.event.uses_left) grants.add(grant);
  }
  const { sessions } = folded.contents();
  for (const [id, { origin, ceiling, label, raisedBy }] of sessions) {
    const raises = raisedBy.map(({ decision: seq, call, tool, after }) => ({ seq, call, tool, after }));
    assert.deepEqual(replayed.session(id), { origin, ceiling, label, raisedBy: raises });
  }
  assert.deepEqual(replayed.pathLabels, folded.pathLabels);
  for (const grant of grants) assert.equal(replayed.usesSpent(grant), folded.usesSpent(grant));
  return folded;
}

/** Ends one life as a crash would, and begins the next one. */
async function restart(life: Life, files: BoxFiles, options: RigOptions): Promise<Life> {
  await life.rig[Symbol.asyncDispose]();
  const before = life.rig.states.contents();
  const { clock } = life.rig;
  const rig = await Rig.open(files, { ...options, clock });
  assert.deepEqual(rig.states.contents(), before);
  assert.deepEqual(fold(files).contents(), before);
  assert.equal(rig.opened.notices.length, 0);
  // What ran and has no result is named, and nothing else.
  assert.deepEqual(rig.states.unfinished.map(({ session, call }) => `${session} ${call}`).sort(), life.stuck.toSorted());
  assert.deepEqual(
    rig.states.openAsks,
    life.waiting.map(({ id }) => Number(id)),
  );
  assert.ok(await rig.ledger.begin("1", ZERO_HASH));
  assert.deepEqual([rig.states.openAsks, rig.states.unfinished, rig.states.sessionGrants], [[], [], []]);
  const ends = files.events("approval");
  for (const { id, digest } of life.waiting) {
    const answers = ends.filter(({ decision }) => decision === id).map(({ answer, by, reason }) => [answer, by, reason]);
    assert.deepEqual(answers, [["gone", "brokerd", "restart"]]);
    const late = await rig.approvals.approve(id, digest, { by: "bxctl", user: null });
    assert.equal(late.kind === "error" && late.body.code, "no_such_approval");
  }
  assert.equal(rig.runtime.runs.length, 0);
  return new Life(rig);
}

test("the state folded from the log, and from what was saved and the log behind it, is the live one, after random histories and crashes", async () => {
  // A history in which nothing was let run, asked, saved or left open would show little.
  const seen = { ran: 0, approved: 0, restored: 0, gone: 0, unfinished: 0, granted: 0 };
  const history = fc.tuple(fc.array(step, { minLength: 5, maxLength: 40 }), fc.integer({ min: 1, max: 12 }));
  await fc.assert(
    fc.asyncProperty(history, async ([steps, saveEvery]) => {
      using files = new BoxFiles();
      write(files);
      const options = { ttlMs: 3000, saveEvery };
      let life = new Life(await Rig.open(files, options));
      const held: GivenGrant[] = [];
      try {
        for (const one of steps) {
          const { rig } = life;
          switch (one.kind) {
            case "call": {
              const sent = send(rig, files, SESSIONS[one.session] ?? assert.fail(), one.what);
              const stuck = life.stuck.length;
              const ended = sent.outcome.then(() => undefined);
              if (one.what === "stuck") {
                while (life.stuck.length === stuck && (await Promise.race([ended.then(() => true), settle()])) !== true);
                break;
              }
              const id = await Promise.race([sent.pending, ended]);
              const digest = id === undefined ? undefined : rig.table.get(id)?.ask.digest;
              if (id !== undefined && digest !== undefined) life.waiting.push({ sent, id, digest });
              break;
            }
            case "approve":
            case "refuse":
            case "leave": {
              const chosen = life.waiting[one.which % Math.max(1, life.waiting.length)];
              const entry = rig.table.list().find(({ id }) => id === chosen?.id);
              if (chosen === undefined || entry === undefined) break;
              if (one.kind === "leave") chosen.sent.leave();
              else if (one.kind === "refuse") await rig.refuse(entry.id);
              else {
                const answer = await rig.approve(entry.id);
                if (answer.kind === "approve_result" && answer.body.outcome === "changed") break;
              }
              await chosen.sent.outcome;
              break;
            }
            case "allow":
            case "close":
            case "reset":
            case "rewind":
              await act(rig, files, one, held);
              break;
            case "advance":
              rig.clock.advance(one.ms);
              await settle();
              break;
            case "restart":
              life.waiting = life.waiting.filter(({ id }) => rig.table.ids.includes(id));
              seen.gone += life.waiting.length;
              seen.unfinished += life.stuck.length;
              life = await restart(life, files, options);
              if (life.rig.opened.saved > 0) seen.restored++;
              break;
            default:
              throw new Error(one satisfies never);
          }
          life.waiting = life.waiting.filter(({ id }) => life.rig.table.ids.includes(id));
        }
        // What expired was taken by its timer, whose record may be on its way.
        await life.rig.calls.stop(AbortSignal.abort());
        // So may a change of the grants that a refused call came upon. When this one is in the log, all before it are.
        assert.ok(await life.rig.ledger.end());
        seen.ran += files.events("result").filter(({ status }) => status === "ok").length;
        seen.approved += files.events("approval").filter(({ outcome }) => outcome === "ask").length;
        seen.granted += files.events("session_grant").length;
        assert.deepEqual(fold(files).contents(), life.rig.states.contents());
      } finally {
        await life.rig[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 40 },
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, what);
});
