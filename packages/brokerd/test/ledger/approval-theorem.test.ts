/** T4, over random histories in which everything happens at once: every ask that ran was approved before, once, as what it was. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallId, type Hash32, SessionId } from "@boxmaker/proto";
import fc from "fast-check";
import { DONE } from "../fakes/recording-runtime.ts";
import { checkApprovals } from "../support/approval-checker.ts";
import { BoxFiles, type GivenGrant, Rig, type SentCall, settle } from "../support/rig.ts";

const TTL_MS = 1000;
const SESSIONS = ["a", "b", "c"];

type Act =
  | { readonly kind: "write" | "fetch" | "shell" | "taint"; readonly session: number }
  | { readonly kind: "look" | "approve" | "approve_late" | "approve_stale" | "refuse" | "leave"; readonly which: number }
  | { readonly kind: "edit"; readonly what: number }
  | { readonly kind: "allow" | "close" | "rewind" | "reset"; readonly session: number }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "restart" };

/**
 * What is done, and when the next thing is: after so many turns of the event loop, so that each meets the others at every step, or (null)
 * once everything so far is on disk.
 */
interface Step {
  readonly act: Act;
  readonly turns: number | null;
}

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constantFrom("write", "write", "fetch", "shell", "taint"), session: fc.nat(2) }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom("look", "approve", "approve", "approve", "approve_late", "approve_stale", "refuse", "leave"),
      which: fc.nat(5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("edit" as const), what: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("allow", "close", "rewind", "reset"), session: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(700) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);
const history: fc.Arbitrary<readonly Step[]> = fc.array(fc.record({ act, turns: fc.option(fc.nat(6), { freq: 1 }) }), {
  minLength: 10,
  maxLength: 50,
});

function grants(files: BoxFiles): void {
  files.grant("write", "write_file", "ask", 'max_taint = "secret"\nuses = 6');
  files.grant("fetch", "http_fetch", "ask", 'max_taint = "private"\nexpires = 2026-11-29T12:00:03Z');
  files.grant("shell", "shell", "auto", 'max_taint = "secret"\nif_untrusted = "ask"', [files.at("work")]);
  files.grant("taint", "read_file", "auto", 'label = "private"\nuntrusted = true', [files.at("taint")]);
}

function edit(files: BoxFiles, what: number): void {
  const uses = what % 2 === 0 ? "uses = 6" : "uses = 4";
  if (what < 4) files.grant("write", "write_file", "ask", `max_taint = "${what < 2 ? "secret" : "private"}"\n${uses}`);
  else files.grant("extra", "write_file", what === 4 ? "deny" : "ask");
}

class World implements AsyncDisposable {
  readonly files = new BoxFiles();
  readonly told = new Map<number, number>();
  readonly #waiting: { readonly id: number; readonly sent: SentCall }[] = [];
  readonly #held: GivenGrant[] = [];
  readonly #shown: { readonly id: number; readonly digest: Hash32 }[] = [];
  readonly #work: Promise<unknown>[] = [];
  readonly #calls = new Map<string, number>();
  /** Runs that began before what lets them run was on disk. */
  readonly early: string[] = [];
  #runs = 0;
  #probes = 0;
  #rig: Rig | undefined;

  get rig(): Rig {
    return this.#rig ?? assert.fail();
  }

  async open(): Promise<void> {
    const clock = this.#rig?.clock;
    const rig = await Rig.open(this.files, { ttlMs: TTL_MS, saveEvery: 7, ...(clock === undefined ? {} : { clock }) });
    rig.runtime.answer = () => {
      this.#runs++;
      if (this.#runs > this.#dispatched()) this.early.push(`run ${this.#runs}`);
      return DONE;
    };
    await rig.ledger.begin("0.1.0", rig.audit.mark.head);
    for (const seq of rig.states.openAsks) await rig.ledger.close(seq as never, "gone", { by: "brokerd", user: null }, "restart");
    this.#rig = rig;
  }

  /** How many calls were let run, as the disk has it now. */
  #dispatched(): number {
    const allowed = this.files.events("decision").filter(({ outcome }) => outcome === "allowed");
    const approved = this.files.events("approval").filter(({ outcome }) => outcome === "ask" || outcome === "allowed");
    return allowed.length + approved.length;
  }

  #send(tool: string, args: object, session: string): void {
    const call = (this.#calls.get(session) ?? 0) + 1;
    this.#calls.set(session, call);
    const sent = this.rig.send(tool, args, {
      session,
      call,
      tell: async (answer) => {
        this.told.set(answer.body.approval, Date.parse(answer.body.expires));
        this.#waiting.push({ id: answer.body.approval, sent });
        return true;
      },
    });
    this.#work.push(sent.outcome);
  }

  step(one: Act): Promise<void> | void {
    const { files, rig } = this;
    switch (one.kind) {
      case "write":
        return this.#send("write_file", { path: files.at("notes/x"), content: "y" }, SESSIONS[one.session] ?? "a");
      case "fetch":
        return this.#send("http_fetch", { url: "https://example.com/" }, SESSIONS[one.session] ?? "a");
      case "shell":
        return this.#send("shell", { command: "true" }, SESSIONS[one.session] ?? "a");
      case "taint":
        return this.#send("read_file", { path: files.at("taint/x") }, SESSIONS[one.session] ?? "a");
      case "look": {
        const [entry] = rig.table.list();
        if (entry !== undefined) this.#shown.push({ id: entry.id, digest: entry.ask.digest });
        return;
      }
      case "approve": {
        const entry = rig.table.list()[one.which % Math.max(1, rig.table.size)];
        if (entry !== undefined) this.#work.push(rig.approve(entry.id));
        return;
      }
      case "approve_late": {
        // The owner sets the clock forward, which no timer notices.
        const entry = rig.table.list()[one.which % Math.max(1, rig.table.size)];
        if (entry === undefined) return;
        rig.clock.set(entry.expiresAt);
        this.#work.push(rig.approvals.approve(entry.id, entry.ask.digest, { by: "bxctl", user: null }));
        return;
      }
      case "approve_stale": {
        const shown = this.#shown[one.which];
        if (shown !== undefined)
          this.#work.push(rig.approvals.approve(shown.id as never, shown.digest, { by: "bxctl", user: null }));
        return;
      }
      case "refuse": {
        const entry = rig.table.list()[one.which % Math.max(1, rig.table.size)];
        if (entry !== undefined) this.#work.push(rig.refuse(entry.id));
        return;
      }
      case "leave":
        this.#waiting[one.which]?.sent.leave();
        return;
      case "edit":
        return edit(files, one.what);
      case "allow": {
        const grant = rig.allow("write_file", files.at("notes"), { session: SESSIONS[one.session] ?? "a", uses: 2 });
        this.#held.push(grant);
        this.#work.push(grant.allowing);
        return;
      }
      case "close":
        this.#held[one.session]?.leave();
        return;
      case "reset":
        this.#work.push(rig.ledger.owner.resetLabel(files.at("notes")));
        return;
      case "rewind": {
        const session = SessionId.parse(SESSIONS[one.session] ?? "a");
        const to = SessionId.parse(`${session}-${rig.ledger.head}-${this.#work.length}`);
        this.#work.push(rig.approvals.rewind({ session, turn: 0, call: CallId.parse(1), to }));
        return;
      }
      case "advance":
        rig.clock.advance(one.ms);
        return;
      case "restart":
        return this.#restart();
      default:
        throw new Error(one satisfies never);
    }
  }

  /** As a kill does it: nothing that waits is answered. What was being recorded may be on disk or not. */
  async #restart(): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
    this.#work.length = 0;
    this.#waiting.length = 0;
    await this.open();
  }

  /** A call that is denied: when it is answered, all records before its own are on disk. */
  async rest(): Promise<void> {
    this.#probes++;
    await this.rig.send("read_file", { path: "/nowhere" }, { session: "probe", call: this.#probes }).outcome;
    await settle();
  }

  async end(): Promise<void> {
    await settle();
    await this.rig.calls.stop(AbortSignal.abort());
    await Promise.allSettled(this.#work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
    this.files[Symbol.dispose]();
  }
}

test("every ask that ran has exactly one earlier approval of that digest, unexpired, unused", async () => {
  let ran = 0;
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      await using world = new World();
      grants(world.files);
      await world.open();
      for (const { act: one, turns } of steps) {
        await world.step(one);
        if (turns === null) await world.rest();
        else for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      }
      await world.end();
      const findings = checkApprovals(world.files.at("audit"), world.told);
      assert.deepEqual(findings.faults, []);
      assert.deepEqual(world.early, []);
      ran += findings.ran;
    }),
    { numRuns: 30 },
  );
  // What never ran would prove nothing.
  assert.ok(ran > 10, `${ran} asks ran`);
});
