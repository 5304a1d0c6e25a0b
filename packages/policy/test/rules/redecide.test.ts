/** Approvals: what was shown is what runs, once, or nothing does. And what only policy can make. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApprovalId, AskBlock, CallId, canonicalJson, SessionId, sha256 } from "@boxmaker/proto";
import { type BoxKind, type CallRequest, decide, type PolicyState, type Redecision, redecide } from "../../src/rules/decide.ts";
import { type Ask, type Decision, isAsk, isDecision } from "../../src/rules/decision.ts";
import type { GrantSet } from "../../src/rules/grant-set.ts";
import { ask, BOX, EARLIER, grant, NOW, read, request, shell, state, valid, write } from "./support.ts";

function askFor(call: CallRequest, grants: GrantSet, at: PolicyState = state(), box: BoxKind = BOX): Ask {
  const verdict = decide(call, grants, at, NOW, box);
  assert.equal(verdict.kind, "ask");
  return verdict.kind === "ask" ? verdict.ask : assert.fail();
}

function end(redecision: Redecision): string {
  if (redecision.kind === "denied") return redecision.reason;
  return redecision.kind === "changed" ? "changed" : redecision.mode;
}

const ASK = valid(grant({ mode: "ask" }));
const CALL = read("/srv/notes/a");

describe("redecide()", () => {
  test("lets an unchanged ask run, as an ask, and raises the state", () => {
    const waiting = askFor(CALL, ASK);
    const redecision = redecide(waiting, ASK, state(), NOW, BOX);
    assert.equal(end(redecision), "ask");
    assert.ok(redecision.kind === "allowed");
    assert.ok(isDecision(redecision.decision));
    assert.deepEqual(redecision.record.raises, { taint: "private", untrusted: false });
    assert.deepEqual(redecision.decision.request, waiting.request);
    assert.equal(redecision.record.outcome, "ask");
  });

  test("says the mode of the rule that lets it run now", () => {
    const waiting = askFor(CALL, valid(grant({ if_untrusted: "ask" })), state({ untrusted: true }));
    assert.equal(end(redecide(waiting, valid(grant({ if_untrusted: "ask" })), state({ untrusted: true }), NOW, BOX)), "ask");
  });

  const changes: readonly (readonly [string, GrantSet, PolicyState, BoxKind])[] = [
    ["the grant's file has another text", valid(grant({ mode: "ask", uses: 5 })), state(), BOX],
    ["another grant is named", valid(grant({ mode: "ask" }), grant({ id: "a", mode: "ask" })), state(), BOX],
    ["the file has another name", valid(grant({ mode: "ask" }, "other.toml")), state(), BOX],
    ["the grant has become auto", valid(grant({ mode: "auto" })), state(), BOX],
    ["the session has seen more", ASK, state({ taint: "secret" }), BOX],
    ["the session has become untrusted", ASK, state({ untrusted: true }), BOX],
    [
      "a path got a label",
      ASK,
      state({ pathLabels: [{ path: "/srv/notes/a", label: { taint: "secret", untrusted: false } }] as never }),
      BOX,
    ],
    [
      "a deny masks something more",
      valid(grant({ mode: "ask" }), grant({ id: "no", mode: "deny", paths: ["/srv/notes/x"] })),
      state(),
      BOX,
    ],
    ["the image is another", ASK, state(), { ...BOX, image: `sha256:${"b".repeat(64)}` }],
    ["the runtime is another", ASK, state(), { runtime: "bubblewrap", image: null }],
    [
      "another grant joins with a higher label",
      valid(grant({ mode: "ask" }), grant({ id: "z", paths: ["/srv"], label: "secret" })),
      state(),
      BOX,
    ],
  ];
  for (const [name, grants, at, box] of changes) {
    test(`says changed, and with what, when ${name}`, () => {
      const waiting = askFor(CALL, ASK);
      const redecision = redecide(waiting, grants, at, NOW, box);
      assert.equal(redecision.kind, "changed");
      assert.ok(redecision.kind === "changed" && isAsk(redecision.ask) && redecision.ask.digest !== waiting.digest);
    });
  }

  test("runs what changed once that has been approved in turn", () => {
    const now = valid(grant({ mode: "auto" }));
    const first = redecide(askFor(CALL, ASK), now, state(), NOW, BOX);
    assert.ok(first.kind === "changed");
    assert.equal(end(redecide(first.ask, now, state(), NOW, BOX)), "auto");
  });

  test("says changed when an approver of the shown ask may not answer any more, though the named grant is the same", () => {
    const both = grant({ mode: "ask", approvers: ["bxctl", "gateway"] });
    const waiting = askFor(CALL, valid(both));
    assert.deepEqual(waiting.approvers, ["bxctl", "gateway"]);
    const narrower = grant({ id: "z", mode: "ask", paths: ["/srv"] });
    const redecision = redecide(waiting, valid(both, narrower), state(), NOW, BOX);
    assert.ok(redecision.kind === "changed");
    assert.deepEqual(redecision.ask.approvers, ["bxctl"]);
  });

  const denials: readonly (readonly [string, GrantSet, PolicyState])[] = [
    ["no_grant", valid(), state()],
    ["denied_by_grant", valid(grant({ mode: "ask" }), grant({ id: "no", mode: "deny" })), state()],
    ["expired", valid(grant({ mode: "ask", expires: EARLIER })), state()],
    ["uses_spent", valid(grant({ mode: "ask", uses: 1 })), state({ spent: { notes: 1 } })],
    ["taint", valid(grant({ mode: "ask", max_taint: "public" })), state({ taint: "secret" })],
    ["untrusted", valid(grant({ mode: "ask", if_untrusted: "deny" })), state({ untrusted: true })],
    ["audience", ASK, state({ ceiling: "public" })],
    ["grants_invalid", { kind: "invalid", problems: [] }, state()],
  ];
  for (const [reason, grants, at] of denials) {
    test(`never turns a denial into a run: ${reason}`, () => {
      assert.equal(end(redecide(askFor(CALL, ASK), grants, at, NOW, BOX)), reason);
    });
  }

  test("refuses an ask that policy didn't make", () => {
    const waiting = askFor(CALL, ASK);
    const copy = Object.create(Object.getPrototypeOf(waiting) as object) as Ask;
    assert.throws(() => redecide(copy, ASK, state(), NOW, BOX), TypeError);
    assert.throws(() => redecide(new Proxy(waiting, {}), ASK, state(), NOW, BOX), TypeError);
    const decided = ask(CALL, [grant()]);
    assert.ok(decided.kind === "allowed");
    assert.throws(() => redecide(decided.decision as unknown as Ask, ASK, state(), NOW, BOX), TypeError);
  });
});

describe("an ask", () => {
  test("has the digest of the block that its owner is shown, without the number of the approval", () => {
    const waiting = askFor(shell("/srv/a"), valid(grant({ tool: "shell", mode: "ask", paths: ["/srv/a", "/srv/b"] })));
    const block = AskBlock.parse({
      approval: ApprovalId.parse(1),
      session: waiting.session,
      call: waiting.call,
      request: waiting.request,
      grant: waiting.grant,
      grant_file: waiting.grantFile,
      grant_sha256: waiting.grantSha256,
      run: waiting.run,
      label: waiting.label,
      before: waiting.before,
      after: waiting.after,
    });
    const { approval: _, ...shown } = block;
    assert.equal(waiting.digest, sha256(canonicalJson(shown)));
  });

  test("has another digest for another session, call number, or argument", () => {
    const base = askFor(CALL, ASK);
    const others = [
      askFor({ ...CALL, session: SessionId.parse("chat-2") }, ASK),
      askFor({ ...CALL, call: CallId.parse(8) }, ASK),
      askFor(read("/srv/notes/b"), ASK),
    ];
    assert.equal(new Set([base, ...others].map(({ digest }) => digest)).size, 4);
    assert.equal(askFor(CALL, ASK).digest, base.digest);
  });

  test("has the same digest whatever spelling the model chose for its arguments", () => {
    const spelled = askFor(request("read_file", ' {"path" : "/srv/notes/\\u0061"}'), ASK);
    assert.equal(spelled.digest, askFor(CALL, ASK).digest);
  });

  test("may be approved by whom all grants that ask let, and where they share nobody by the owner's terminal", () => {
    const gateway = grant({ mode: "ask", approvers: ["gateway"] });
    assert.deepEqual(askFor(CALL, valid(gateway)).approvers, ["gateway"]);
    assert.deepEqual(askFor(CALL, valid(gateway, grant({ id: "auto" }))).approvers, ["gateway"]);
    assert.deepEqual(askFor(CALL, valid(gateway, grant({ id: "b", mode: "ask" }))).approvers, ["bxctl"]);
    assert.deepEqual(askFor(CALL, ASK).approvers, ["bxctl"]);
  });

  test("may be approved by whom the auto grant lets that asks because the session is untrusted", () => {
    const auto = grant({ if_untrusted: "ask", approvers: ["gateway"] });
    assert.deepEqual(askFor(CALL, valid(auto), state({ untrusted: true })).approvers, ["gateway"]);
  });

  test("expires when the last grant that permits it does", () => {
    const expires = (...times: readonly (string | undefined)[]): number | null =>
      askFor(
        CALL,
        valid(
          ...times.map((time, index) => grant({ id: `g${index}`, mode: "ask", ...(time === undefined ? {} : { expires: time }) })),
        ),
      ).expires;
    assert.equal(expires("2027-01-01T00:00:00Z"), Date.UTC(2027, 0, 1));
    assert.equal(expires("2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"), Date.UTC(2028, 0, 1));
    assert.equal(expires("2027-01-01T00:00:00Z", EARLIER), Date.UTC(2027, 0, 1));
    assert.equal(expires("2027-01-01T00:00:00Z", undefined), null);
  });
});

describe("sealed values", () => {
  const make = (): readonly [decision: Decision, waiting: Ask] => {
    const verdict = ask(write("/srv/notes/a"), [grant({ tool: "write_file" })]);
    return [verdict.kind === "allowed" ? verdict.decision : assert.fail(), askFor(CALL, ASK)];
  };

  test("are told from each other and from anything else", () => {
    const [decision, waiting] = make();
    assert.ok(isDecision(decision) && !isAsk(decision));
    assert.ok(isAsk(waiting) && !isDecision(waiting));
    for (const other of [null, undefined, 1, "x", {}, [], () => decision]) assert.ok(!isDecision(other) && !isAsk(other));
  });

  test("can't be made with the constructor, which is reachable at run time", () => {
    for (const sealed of make()) {
      const Constructor = sealed.constructor as unknown as new (...values: readonly unknown[]) => Decision;
      for (const seal of [undefined, Symbol("policy"), null, {}])
        assert.throws(
          () => new Constructor(seal, { session: "x" }, "auto"),
          new TypeError("a decision can only be made by policy"),
        );
      class Forged extends Constructor {}
      assert.throws(() => new Forged(undefined, {}), TypeError);
    }
  });

  test("aren't imitated by copies, proxies, or objects with the same prototype", () => {
    const [decision] = make();
    const prototype = Object.getPrototypeOf(decision) as object;
    for (const forged of [
      Object.create(prototype),
      Object.setPrototypeOf({ session: "x" }, prototype),
      new Proxy(decision, {}),
      Object.assign({}, decision),
      structuredClone({ session: decision.session }),
    ]) {
      assert.ok(!isDecision(forged));
    }
  });

  test("are frozen with everything in them", () => {
    const mutate = (change: () => unknown): void => assert.throws(change, TypeError);
    for (const sealed of make()) {
      assert.ok(Object.isFrozen(sealed));
      const values = [
        sealed.request,
        sealed.request.arguments,
        sealed.run,
        sealed.run.mounts,
        sealed.run.mounts[0],
        sealed.run.masked,
      ];
      for (const value of [...values, sealed.run.hosts, sealed.label, sealed.before, sealed.after, sealed.approvers]) {
        assert.ok(Object.isFrozen(value), JSON.stringify(value));
      }
      mutate(() => Object.assign(sealed, { session: "x" }));
      mutate(() => Object.defineProperty(sealed, "run", { value: {} }));
      mutate(() => Object.defineProperty(Object.getPrototypeOf(sealed) as object, "mode", { value: "auto" }));
      mutate(() => Object.setPrototypeOf(sealed, null) as unknown);
      mutate(() => Object.setPrototypeOf(sealed.constructor, class {}) as unknown);
    }
  });

  test("keep the state that they were judged in, though the caller's object changes", () => {
    const label = { taint: "public" as const, untrusted: false };
    const at = { ...state(), label };
    const sealed = askFor(CALL, ASK, at);
    label.untrusted = true;
    assert.deepEqual(sealed.before, { taint: "public", untrusted: false });
  });
});
