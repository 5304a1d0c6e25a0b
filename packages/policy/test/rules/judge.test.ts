/** What a verdict and its record say of the rules that came to it, where more than one of them has a part in it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AbsPath, CallId, parseToolCall, sha256, type ToolName } from "@boxmaker/proto";
import { type CallRequest, decide, redecide, type Verdict } from "../../src/rules/decide.ts";
import { GrantIndex } from "../../src/rules/grant-index.ts";
import type { Otherwise } from "../../src/rules/grant-set.ts";
import { judge } from "../../src/rules/judge.ts";
import { fitsCall } from "../../src/rules/matching.ts";
import { outermost, planRun } from "../../src/rules/plan-run.ts";
import { holdsPredicate } from "../../src/rules/predicate.ts";
import {
  ask,
  BOX,
  EARLIER,
  fetchOf,
  type GrantFields,
  grant,
  LATER,
  NOW,
  outcome,
  path,
  planOf,
  read,
  SESSION,
  type StateFields,
  shell,
  state,
  valid,
  write,
} from "./support.ts";

function verdictOf(call: CallRequest, grants: readonly GrantFields[], fields: StateFields = {}): Verdict {
  return ask(
    call,
    grants.map((each) => grant(each)),
    fields,
  );
}

const OTHERWISE: Otherwise = {
  effect: "ask",
  maxTaint: "private",
  ifUntrusted: "ask",
  label: "private",
  untrusted: false,
  sha256: sha256("tools"),
  reserved: [path("/home/box/run")],
};

/** Decides where every tool may ask for what no grant permits. */
function verdictOtherwise(call: CallRequest, grants: readonly GrantFields[]): Verdict {
  const tools: readonly ToolName[] = ["read_file", "write_file", "shell", "http_fetch"];
  const set = { ...valid(...grants.map((each) => grant(each))), otherwise: new Map(tools.map((tool) => [tool, OTHERWISE])) };
  return decide(call, set, state(), NOW, BOX);
}

describe("the record says", () => {
  test("that a call runs, that it asks, or that it is denied", () => {
    assert.equal(verdictOf(read("/srv/notes/a"), [{}]).record.outcome, "allowed");
    assert.equal(verdictOf(read("/srv/notes/a"), [{ mode: "ask" }]).record.outcome, "ask");
    assert.equal(verdictOf(read("/srv/notes/a"), [{ mode: "deny" }]).record.outcome, "denied");
  });

  test("nothing of grants, uses and labels where no grant speaks about the call", () => {
    const { matched, uses_left, path_labels, label, grant: named } = verdictOf(read("/srv/other"), [{}]).record;
    assert.deepEqual(
      { matched, uses_left, path_labels, label, named },
      { matched: [], uses_left: [], path_labels: [], label: null, named: null },
    );
  });

  test("of an approved call what was asked for, as it was read, and by which kind of rule it runs", () => {
    const set = valid(grant({ mode: "ask" }));
    const asked = decide(read("/srv/notes/a"), set, state(), NOW, BOX);
    assert.ok(asked.kind === "ask");
    const again = redecide(asked.ask, set, state(), NOW, BOX);
    assert.ok(again.kind === "allowed");
    assert.deepEqual(again.record.arguments, { form: "typed", call: asked.ask.request });
    assert.deepEqual([again.record.outcome, again.mode, again.decision.mode], ["ask", "ask", "ask"]);
    const milder = redecide(asked.ask, valid({ ...grant(), sha256: asked.ask.grantSha256 }), state(), NOW, BOX);
    assert.ok(milder.kind === "allowed");
    assert.deepEqual([milder.record.outcome, milder.mode, milder.decision.mode], ["allowed", "auto", "auto"]);
  });
});

test("redecide() throws on what policy didn't make", () => {
  const forged = { session: SESSION, call: CallId.parse(7) };
  assert.throws(
    () => Reflect.apply(redecide, undefined, [forged, valid(), state(), NOW, BOX]),
    new TypeError("expected an ask that policy made"),
  );
});

test("a judgement of a call that may run says so", () => {
  const parsed = parseToolCall("read_file", '{"path":"/srv/notes/a"}');
  assert.ok(parsed.kind === "ok");
  assert.equal(judge(parsed.value, SESSION, valid(grant()), state(), Date.parse(NOW), BOX).kind, "runs");
});

describe("of several grants that speak about a call", () => {
  test("an ask that has expired still says who may approve it", () => {
    const approversOf = (...grants: readonly GrantFields[]): unknown => {
      const verdict = verdictOf(read("/srv/notes/a"), grants);
      return verdict.kind === "ask" ? verdict.ask.approvers : verdict.kind;
    };
    const both = { id: "now", mode: "ask", approvers: ["bxctl", "gateway"] };
    assert.deepEqual(approversOf(both), ["bxctl", "gateway"]);
    assert.deepEqual(approversOf(both, { id: "old", mode: "ask", expires: EARLIER, approvers: ["bxctl"] }), ["bxctl"]);
  });

  test("one without an end makes the permission endless, wherever it stands", () => {
    const expiresOf = (...grants: readonly GrantFields[]): unknown => {
      const verdict = verdictOf(read("/srv/notes/a"), grants);
      return verdict.kind === "allowed" ? verdict.decision.expires : verdict.kind;
    };
    const until = { expires: LATER };
    assert.equal(expiresOf({ id: "a" }, { id: "b", ...until }), null);
    assert.equal(expiresOf({ id: "a", ...until }, { id: "b" }), null);
    assert.equal(expiresOf({ id: "a", ...until }, { id: "b", ...until }), Date.parse(LATER));
  });

  test("one that no longer permits still says what its box would have read", () => {
    const labels = {
      pathLabels: [{ path: path("/srv/notes/x"), label: { taint: "secret", untrusted: false } }],
      ceiling: "private",
    } as const;
    for (const grants of [[{ tool: "shell", expires: EARLIER }], [{ tool: "shell", mode: "ask", expires: EARLIER }]]) {
      const verdict = verdictOf(shell(), grants, labels);
      assert.equal(outcome(verdict), "audience");
      assert.deepEqual(verdict.record.path_labels, labels.pathLabels);
    }
  });
});

describe("what no grant permits", () => {
  test("isn't let through by tools.toml where the place is one that no grant could name, though an expired one speaks of it", () => {
    const wide = { tool: "write_file", paths: ["/home"], expires: EARLIER };
    assert.equal(outcome(verdictOtherwise(write("/home/me/a"), [wide])), "expired");
  });

  test("isn't let through for a path that can't be mounted, unless it lies in a writable folder, which is mounted instead", () => {
    const folder = { tool: "write_file", paths: ["/srv/w"] };
    assert.equal(outcome(verdictOtherwise(read("/srv/x/a:b"), [folder])), "no_grant");
    assert.equal(outcome(verdictOtherwise(read("/srv/w/a:b"), [folder])), "ask");
  });

  test("reaches no host unless it fetches", () => {
    assert.deepEqual(planOf(verdictOtherwise(read("/srv/a"), [])).hosts, []);
    assert.deepEqual(planOf(verdictOtherwise(shell(), [])).hosts, []);
  });
});

describe("a box that is named for one grant and permitted by others", () => {
  const named = { id: "a", mode: "ask", expires: EARLIER };

  test("mounts the outermost of what they permit below a path of the named one", () => {
    const grants = [
      { ...named, tool: "shell", paths: ["/srv/a"] },
      { id: "b", tool: "shell", paths: ["/srv/a/x", "/srv/b"] },
      { id: "c", tool: "shell", paths: ["/srv/a/x/y", "/srv/a/z"] },
    ];
    const { mounts } = planOf(verdictOf(shell("/srv/a/x/y"), grants));
    assert.deepEqual(mounts.map((mount) => mount.path).sort(), ["/srv/a/x", "/srv/a/z"]);
  });

  test("reaches the hosts that both stand for, by name or by pattern on either side", () => {
    const hostsOf = (mine: readonly string[], theirs: readonly string[]): readonly string[] =>
      planOf(
        verdictOf(fetchOf("https://a.example.com/"), [
          { ...named, tool: "http_fetch", hosts: mine },
          { id: "b", tool: "http_fetch", hosts: theirs },
        ]),
      ).hosts;
    assert.deepEqual(hostsOf(["a.example.com", "b.org"], ["c.net", "*.example.com"]), ["a.example.com"]);
    assert.deepEqual(hostsOf(["*.example.com"], ["c.net", "*.net", "a.example.com", "b.example.com"]), [
      "a.example.com",
      "b.example.com",
    ]);
    assert.deepEqual(hostsOf(["*.example.com", "a.example.com"], ["*.example.com"]), ["*.example.com", "a.example.com"]);
  });

  test("mounts the longest path that holds the call's, wherever the grant names it", () => {
    for (const paths of [
      ["/srv/notes", "/srv/notes/a"],
      ["/srv/notes/a", "/srv/notes"],
    ]) {
      const { mounts } = planOf(verdictOf(read("/srv/notes/a/x"), [{ paths }]));
      assert.deepEqual(mounts, [{ path: "/srv/notes/a", writable: false }]);
    }
  });
});

describe("a plan hides", () => {
  const maskedOf = (call: CallRequest, ...grants: readonly GrantFields[]): readonly AbsPath[] =>
    planOf(verdictOf(call, grants)).masked;

  test("the credential place that a write asks for, and not one that every box hides anyway", () => {
    assert.deepEqual(maskedOf(write("/srv/notes/deep/.ssh/id"), { tool: "write_file" }), ["/srv/notes/deep/.ssh"]);
    assert.deepEqual(maskedOf(read("/srv/notes/deep/.ssh/id"), {}), ["/srv/notes/deep/.ssh"]);
    assert.deepEqual(maskedOf(read("/srv/notes/.ssh/id"), {}), []);
    assert.deepEqual(maskedOf(read("/srv/notes/a"), {}), []);
    assert.deepEqual(maskedOf(shell(), { tool: "shell" }), []);
  });

  test("that place among what a deny names, in order", () => {
    const deny = { id: "no", mode: "deny", paths: ["/srv/notes/a", "/srv/notes/z"] };
    const masked = maskedOf(read("/srv/notes/deep/.ssh/id"), {}, deny);
    assert.deepEqual(masked, ["/srv/notes/a", "/srv/notes/deep/.ssh", "/srv/notes/z"]);
  });
});

test("the outermost of paths are sorted, each once, and go by component", () => {
  const all = ["/srv/z", "/srv/diary", "/srv/di", "/srv/z/y", "/srv/diary"].map((text) => path(text));
  assert.deepEqual(outermost(all), ["/srv/di", "/srv/diary", "/srv/z"]);
  assert.deepEqual(outermost([path("/a/b/c"), path("/a")]), ["/a"]);
  assert.deepEqual(outermost([path("/srv/diary/x"), path("/srv/di")]), ["/srv/di", "/srv/diary/x"]);
});

describe("a grant by itself", () => {
  const fitOf = (call: CallRequest, fields: GrantFields): unknown => {
    const parsed = parseToolCall(
      call.tool === "shell" ? "shell" : call.tool === "http_fetch" ? "http_fetch" : "read_file",
      call.argumentsText,
    );
    return parsed.kind === "ok" ? fitsCall(grant(fields).grant, parsed.value) : assert.fail(parsed.problem);
  };

  test("fits a call of its tool in its places, whoever asks", () => {
    assert.deepEqual(fitOf(read("/srv/notes/a"), {}), { path: "/srv/notes" });
    assert.equal(fitOf(read("/srv/other"), {}), undefined);
    assert.equal(fitOf(read("/srv/notes/a"), { tool: "write_file" }), undefined);
    assert.deepEqual(fitOf(shell("/srv/notes/a"), { tool: "shell" }), { path: "/srv/notes" });
    assert.deepEqual(fitOf(shell(), { tool: "shell" }), { path: null });
    assert.equal(fitOf(shell("/srv"), { tool: "shell" }), undefined);
    assert.deepEqual(fitOf(fetchOf("https://example.com/"), { tool: "http_fetch" }), { path: null });
    assert.equal(fitOf(fetchOf("https://example.org/"), { tool: "http_fetch" }), undefined);
  });

  test("compares a text as it stands, though it could be read as a URL", () => {
    assert.equal(holdsPredicate({ in: ["http://example.com/a/.."] }, "text", "http://example.com/"), false);
    assert.equal(holdsPredicate({ in: ["http://example.com/a/.."] }, "url", "http://example.com/"), true);
  });

  test("lets its box have what the host executes only where every grant that permits the call does", () => {
    const index = GrantIndex.of([]);
    const parsed = parseToolCall("shell", '{"command":"ls"}');
    assert.ok(parsed.kind === "ok");
    const match = (fields: GrantFields) => ({ loaded: grant({ tool: "shell", ...fields }), path: null });
    const [yes, no] = [match({ id: "a", host_exec: true }), match({ id: "b" })];
    assert.equal(planRun(parsed.value, yes, [yes], index, BOX).host_exec, true);
    assert.equal(planRun(parsed.value, yes, [yes, no], index, BOX).host_exec, false);
  });
});
