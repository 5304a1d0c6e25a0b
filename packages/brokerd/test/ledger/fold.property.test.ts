/** The state that brokerd lives by is the state that the log says, after every history and through every restart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallId, SessionId } from "@boxmaker/proto";
import fc from "fast-check";
import { SessionStates } from "../../src/ledger/session-states.ts";
import { BoxFiles, type GivenGrant, Rig, type SentCall, settle } from "../support/rig.ts";

const SESSIONS = ["a", "b", "c", "d"].map((name) => SessionId.parse(name));

type Step =
  | { readonly kind: "call"; readonly session: number; readonly what: "read" | "secret" | "write" | "shell" | "fetch" | "odd" }
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
      what: fc.constantFrom("read", "secret", "write", "shell", "fetch", "odd"),
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
  files.grant("secret", "read_file", "auto", 'label = "secret"\nuntrusted = true', [files.at("work/secret")]);
  files.grant("write", "write_file", "ask", 'max_taint = "secret"\nuses = 4');
  files.grant("shell", "shell", "auto", 'if_untrusted = "ask"\nmax_taint = "secret"', [files.at("work")]);
  files.grant("fetch", "http_fetch", "auto", 'max_taint = "private"');
}

function send(rig: Rig, files: BoxFiles, session: string, what: Extract<Step, { kind: "call" }>["what"]): SentCall {
  const fields = { session };
  switch (what) {
    case "read":
      return rig.read("a", fields);
    case "secret":
      return rig.send("read_file", { path: files.at("work/secret") }, fields);
    case "write":
      return rig.write("a", fields);
    case "shell":
      return rig.send("shell", { command: "true" }, fields);
    case "fetch":
      return rig.send("http_fetch", { url: "https://example.com/" }, fields);
    case "odd":
      return rig.send("read_file", "[]", fields);
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

function assertSame(rig: Rig, files: BoxFiles): void {
  const folded = new SessionStates();
  for (const record of files.records()) folded.apply(record);
  assert.deepEqual(folded.contents(), rig.states.contents());
}

test("the state folded from the log, and from what was saved and the log behind it, is the live one, after random histories", async () => {
  let restored = 0;
  const history = fc.tuple(fc.array(step, { minLength: 5, maxLength: 40 }), fc.integer({ min: 1, max: 12 }));
  await fc.assert(
    fc.asyncProperty(history, async ([steps, saveEvery]) => {
      using files = new BoxFiles();
      write(files);
      const options = { ttlMs: 3000, saveEvery };
      let rig = await Rig.open(files, options);
      const held: GivenGrant[] = [];
      let waiting: { readonly sent: SentCall; readonly id: number }[] = [];
      try {
        for (const one of steps) {
          switch (one.kind) {
            case "call": {
              const sent = send(rig, files, SESSIONS[one.session] ?? assert.fail(), one.what);
              const id = await Promise.race([sent.pending, sent.outcome.then(() => undefined)]);
              if (id !== undefined) waiting.push({ sent, id });
              break;
            }
            case "approve":
            case "refuse":
            case "leave": {
              const chosen = waiting[one.which % Math.max(1, waiting.length)];
              const entry = rig.table.list().find(({ id }) => id === chosen?.id);
              if (chosen === undefined || entry === undefined) break;
              if (one.kind === "leave") chosen.sent.leave();
              else if (one.kind === "refuse") await rig.refuse(entry.id);
              else {
                const answer = await rig.approve(entry.id);
                if (answer.kind === "approve_result" && answer.body.outcome === "changed") break;
              }
              await chosen.sent.outcome;
              waiting = waiting.filter((other) => other !== chosen);
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
            case "restart": {
              await rig[Symbol.asyncDispose]();
              const before = rig.states.contents();
              const { clock } = rig;
              rig = await Rig.open(files, { ...options, clock });
              assert.deepEqual(rig.states.contents(), before);
              assert.equal(rig.opened.notices.length, 0);
              if (rig.opened.saved > 0) restored++;
              waiting = [];
              break;
            }
            default:
              throw new Error(one satisfies never);
          }
        }
        // What expired was taken by its timer, whose record may be on its way.
        await rig.calls.stop(AbortSignal.abort());
        assertSame(rig, files);
      } finally {
        await rig[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 40 },
  );
  assert.ok(restored > 0);
});
