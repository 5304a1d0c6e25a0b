/** What a call gets that no grant permits, and that this reaches nothing which a grant couldn't name. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AbsPath, sha256, type ToolName } from "@boxmaker/proto";
import { type CallRequest, decide, redecide, type Verdict } from "../../src/rules/decide.ts";
import type { GrantSet, Otherwise, ValidGrantSet } from "../../src/rules/grant-set.ts";
import {
  BOX,
  EARLIER,
  fetchOf,
  type GrantFields,
  grant,
  NOW,
  outcome,
  path,
  planOf,
  read,
  type StateFields,
  shell,
  state,
  valid,
  write,
} from "./support.ts";

const SHA = sha256("tools");
const DEFAULTS: Otherwise = {
  effect: "ask",
  maxTaint: "private",
  ifUntrusted: "ask",
  label: "private",
  untrusted: false,
  sha256: SHA,
  reserved: [path("/home/box/run"), path("/home/box/etc/tools.toml")],
};

/** A set that lets every tool ask. */
function setWith(grants: readonly GrantFields[], rule: Partial<Otherwise> = {}, labels: readonly string[] = []): ValidGrantSet {
  const tools: readonly ToolName[] = ["read_file", "write_file", "shell", "http_fetch"];
  return {
    ...valid(...grants.map((fields) => grant(fields))),
    otherwise: new Map(tools.map((tool) => [tool, { ...DEFAULTS, ...rule }])),
    labels: labels.map((at) => ({ path: path(at), label: { taint: "secret", untrusted: true } })),
  };
}

function decideBy(set: GrantSet, call: CallRequest, fields: StateFields = {}): Verdict {
  return decide(call, set, state(fields), NOW, BOX);
}

describe("a call that only `otherwise` lets through", () => {
  test("asks the owner's terminal, named for tools.toml by its hash", () => {
    const verdict = decideBy(setWith([]), read("/srv/a/b"));
    assert.ok(verdict.kind === "ask");
    const { ask, record } = verdict;
    assert.deepEqual([ask.grant, ask.grantFile, ask.grantSha256], ["tools.toml", "etc/tools.toml", SHA]);
    assert.deepEqual([record.grant, record.grant_sha256, record.matched], ["tools.toml", SHA, []]);
    assert.deepEqual([ask.approvers, ask.expires, record.uses_left], [["bxctl"], null, []]);
  });

  test("runs once it is approved, and spends no use", () => {
    const set = setWith([]);
    const asked = decideBy(set, shell("/srv/a"));
    assert.ok(asked.kind === "ask");
    const verdict = redecide(asked.ask, set, state(), NOW, BOX);
    assert.ok(verdict.kind === "allowed");
    assert.deepEqual([verdict.mode, verdict.uses, verdict.writes], ["ask", null, ["/srv/a"]]);
  });

  test("is changed for its approver once tools.toml has changed in any way", () => {
    const asked = decideBy(setWith([]), read("/srv/a"));
    assert.ok(asked.kind === "ask");
    assert.equal(redecide(asked.ask, setWith([], { sha256: sha256("other") }), state(), NOW, BOX).kind, "changed");
    assert.equal(redecide(asked.ask, setWith([], { label: "secret" }), state(), NOW, BOX).kind, "changed");
    assert.equal(redecide(asked.ask, valid(), state(), NOW, BOX).kind, "denied");
  });

  test("takes its label and whether it may be a stranger's words from there, with the labels of what it reads", () => {
    assert.deepEqual(decideBy(setWith([], { untrusted: true }), read("/srv/a")).record.label, {
      taint: "private",
      untrusted: true,
    });
    const secret = { taint: "secret", untrusted: false };
    assert.deepEqual(decideBy(setWith([]), read("/home/me/.ssh/id")).record.label, secret);
    const below = { pathLabels: [{ path: path("/srv/a/deep"), label: { taint: "secret", untrusted: false } }] } as const;
    assert.deepEqual(decideBy(setWith([]), shell("/srv/a"), below).record.label, secret);
    assert.deepEqual(decideBy(setWith([], {}, ["/srv"]), read("/srv/a")).record.label, { taint: "secret", untrusted: true });
  });

  test("mounts exactly the place that it names", () => {
    const mounts = (call: CallRequest): unknown => planOf(decideBy(setWith([]), call)).mounts;
    assert.deepEqual(mounts(read("/srv/a/b")), [{ path: "/srv/a/b", writable: false }]);
    assert.deepEqual(mounts(write("/srv/a/b")), [{ path: "/srv/a", writable: true }]);
    assert.deepEqual(mounts(shell("/srv/a")), [{ path: "/srv/a", writable: true }]);
    assert.deepEqual(mounts(shell()), []);
    assert.deepEqual(planOf(decideBy(setWith([]), fetchOf("https://a.example.com/x"))).hosts, ["a.example.com"]);
  });

  test("reaches no host where it fetches nothing", () => {
    for (const call of [read("/srv/a"), write("/srv/a/b"), shell()])
      assert.deepEqual(planOf(decideBy(setWith([]), call)).hosts, []);
  });

  test("may name what can't be mounted by itself below a folder that is mounted for it, as with a grant of the folder", () => {
    const writable = { tool: "write_file", paths: ["/srv/w"], expires: EARLIER };
    const plan = planOf(decideBy(setWith([writable]), read("/srv/w/a:b")));
    assert.deepEqual(plan.mounts, [{ path: "/srv/w", writable: false }]);
  });

  test("mounts the writable folder of a grant where its place lies in one, since a box may have put a link there", () => {
    const writable = { tool: "write_file", paths: ["/srv/w"], expires: EARLIER };
    const mounts = (call: CallRequest): unknown => planOf(decideBy(setWith([writable]), call)).mounts;
    assert.deepEqual(mounts(read("/srv/w/a/b")), [{ path: "/srv/w", writable: false }]);
    assert.deepEqual(mounts(write("/srv/w/a/b")), [{ path: "/srv/w", writable: true }]);
    assert.deepEqual(mounts(shell("/srv/w/a")), [{ path: "/srv/w", writable: true }]);
    assert.deepEqual(mounts(shell("/srv/w")), [{ path: "/srv/w", writable: true }]);
    assert.deepEqual(mounts(read("/srv/w2/a")), [{ path: "/srv/w2/a", writable: false }]);
  });

  test("has what a deny names hidden from it, and may not write what the host executes", () => {
    const deny = { id: "no", mode: "deny", paths: ["/srv/a/diary", "/srv/a/diary/deep"] };
    const plan = planOf(decideBy(setWith([deny]), shell("/srv/a")));
    assert.deepEqual([plan.masked, plan.exposed, plan.host_exec], [["/srv/a/diary"], [], false]);
  });
});

describe("nothing is reached by `otherwise` that no grant could name:", () => {
  const unreachable: Readonly<Record<string, readonly CallRequest[]>> = {
    "the box's own directories": [
      read("/home/box/run/admin/admin.sock"),
      read("/home/box/run"),
      write("/home/box/run/x"),
      shell("/home/box/run"),
    ],
    "a folder that holds one of them": [shell("/home/box"), write("/home/x"), shell("/home"), write("/home/box/etc/tools.toml")],
    "what a box has of its own": [read("/etc/passwd"), write("/usr/x"), shell("/proc/1"), shell("/tmp"), read("/dev/sda")],
    "the root": [write("/x")],
    "a path that can't be mounted": [read("/srv/a:b"), shell("/srv/a,b"), write("/srv/a:b/c")],
  };
  for (const [name, calls] of Object.entries(unreachable)) {
    test(name, () => {
      for (const call of calls) {
        const verdict = decideBy(setWith([]), call);
        assert.deepEqual(
          [outcome(verdict), verdict.record.grant, verdict.record.label],
          ["no_grant", null, null],
          call.argumentsText,
        );
      }
    });
  }

  test("the place of a write_file grant that holds one of them neither", () => {
    const wide = { tool: "write_file", paths: ["/home"], expires: EARLIER };
    assert.equal(outcome(decideBy(setWith([wide]), read("/home/me/a"))), "no_grant");
  });
});

describe("`otherwise` gives nothing", () => {
  const denied = (fields: StateFields, rule: Partial<Otherwise> = {}, grants: readonly GrantFields[] = []): string =>
    outcome(decideBy(setWith(grants, rule), read("/srv/notes/a"), fields));

  test("above its max_taint", () => assert.equal(denied({ taint: "secret" }), "taint"));
  test("to an untrusted session that it says deny to", () =>
    assert.equal(denied({ untrusted: true }, { ifUntrusted: "deny" }), "untrusted"));
  test("where the results aren't for the audience", () => assert.equal(denied({ ceiling: "public" }), "audience"));
  test("where a deny speaks", () => assert.equal(denied({}, {}, [{ mode: "deny" }]), "denied_by_grant"));
  test("where it denies", () => assert.equal(denied({}, { effect: "deny" }), "no_grant"));

  test('where a grant that has expired says if_untrusted = "deny"', () => {
    const expired = { expires: EARLIER, if_untrusted: "deny" };
    assert.equal(denied({}, {}, [expired]), "expired");
    assert.equal(denied({ untrusted: true }, {}, [expired]), "expired");
    // Its own taint isn't the reason, since it has no part in it.
    assert.equal(denied({ taint: "secret" }, {}, [expired]), "expired");
  });
});

describe("beside grants that speak about the call", () => {
  test("`otherwise` lets ask what an expired grant doesn't permit, named for that grant, in a box of its own", () => {
    const verdict = decideBy(setWith([{ id: "old", expires: EARLIER, approvers: ["gateway"] }]), read("/srv/notes/a"));
    assert.equal(outcome(verdict), "ask");
    assert.equal(verdict.record.grant, "old");
    assert.deepEqual(planOf(verdict).mounts, [{ path: "/srv/notes/a", writable: false }]);
    assert.deepEqual(verdict.kind === "ask" ? verdict.ask.approvers : [], ["bxctl"]);
  });

  test("its label joins theirs only where it lets the call through", () => {
    const rule = { label: "secret", untrusted: true } as const;
    const label = (grants: readonly GrantFields[], fields: StateFields = {}): unknown =>
      decideBy(setWith(grants, rule), read("/srv/notes/a"), fields).record.label;
    assert.deepEqual(label([{ expires: EARLIER }]), { taint: "secret", untrusted: true });
    assert.deepEqual(label([{}]), { taint: "private", untrusted: false });
    assert.deepEqual(label([{ expires: EARLIER }], { taint: "secret" }), { taint: "private", untrusted: false });
  });

  test("it never makes milder what a grant permits", () => {
    assert.equal(outcome(decideBy(setWith([{}]), read("/srv/notes/a"))), "auto");
    assert.equal(outcome(decideBy(setWith([{ mode: "ask" }]), read("/srv/notes/a"))), "ask");
  });
});

test("the index finds the outermost writable folder above a place among those of all grants", () => {
  const writing: readonly GrantFields[] = [
    { id: "a", tool: "shell", paths: ["/srv/x/y"], mode: "ask" },
    { id: "b", tool: "write_file", paths: ["/srv/x"] },
    { id: "c", tool: "shell", paths: ["/srv"], mode: "deny" },
  ];
  const at: AbsPath = path("/srv/x/y/z");
  assert.deepEqual(planOf(decideBy(setWith(writing), read(at))).mounts, [{ path: "/srv/x", writable: false }]);
});
