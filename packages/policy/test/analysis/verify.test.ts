/** The theorems, held against an owner's own grants. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Verification, verify } from "../../src/analysis/index.ts";
import { grantText, NOW, setOf } from "./support.ts";

type Texts = Readonly<Record<string, string>>;

const ORDINARY: Texts = {
  notes: grantText("read_file", "auto", ["/srv/notes"]),
  keys: grantText("read_file", "auto", ["/srv/keys"], 'label = "secret"'),
  drafts: grantText("write_file", "auto", ["/srv/drafts"]),
  build: grantText("shell", "ask", ["/srv/work"], 'approvers = ["bxctl", "gateway"]'),
  web: grantText("http_fetch", "auto", ["*.example.com"]),
  paste: grantText("http_fetch", "deny", ["paste.example.com"]),
};

/** `SOURCE > SINK: step, step`, or `none`. */
function flowsOf(texts: Texts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    verify(setOf(texts), NOW).flows.map(({ from, sink, trace }) => [
      `${from} > ${sink}`,
      trace === null ? "none" : trace.map(({ tool, target, runs }) => `${runs} ${tool} ${target}`).join(", "),
    ]),
  );
}

function idsThatFail({ theorems }: Verification): readonly string[] {
  return theorems.filter(({ failure }) => failure !== null).map(({ id }) => id);
}

describe("verify()", () => {
  test("proves every theorem for ordinary grants, and says what it covered", () => {
    const verification = verify(setOf(ORDINARY), NOW);
    assert.deepEqual([verification.holds, idsThatFail(verification)], [true, []]);
    assert.deepEqual(
      verification.theorems.map(({ id }) => id),
      ["T1", "T2", "T3", "T4", "T5"],
    );
    assert.ok(verification.theorems.every(({ checked }) => checked > 0));
    const { grants, states, sessions, limits, classes, reachable } = verification.covered;
    assert.deepEqual([grants, states, sessions, limits], [6, 6, 1, []]);
    assert.ok(classes >= 10 && reachable === 6);
  });

  test("finds that nothing secret or untrusted reaches a sink unapproved by default, and where private data may go", () => {
    const flows = flowsOf(ORDINARY);
    for (const [flow, trace] of Object.entries(flows)) {
      if (flow !== "private > write_file") assert.equal(trace, "none", flow);
    }
    assert.match(flows["private > write_file"] ?? "", /^(un)?approved \w+ [^,]+, unapproved write_file \/srv\/drafts\/…$/u);
  });

  test("finds the shortest way from a secret to a sink that a grant opens", () => {
    const open = { ...ORDINARY, web: grantText("http_fetch", "auto", ["*.example.com"], 'max_taint = "secret"') };
    const flows = flowsOf(open);
    assert.equal(flows["secret > http_fetch"], "unapproved read_file /srv/keys, unapproved http_fetch *.example.com");
    assert.equal(flows["untrusted > http_fetch"], "none");
  });

  test("finds the way from a stranger's words to a sink that a grant lets run all the same", () => {
    const open = { ...ORDINARY, drafts: grantText("write_file", "auto", ["/srv/drafts"], 'if_untrusted = "auto"') };
    assert.equal(
      flowsOf(open)["untrusted > write_file"],
      "unapproved http_fetch *.example.com, unapproved write_file /srv/drafts/…",
    );
  });

  test("finds a way that goes over an approval only", () => {
    const open = {
      keys: grantText("read_file", "ask", ["/srv/keys"], 'label = "secret"'),
      web: grantText("http_fetch", "auto", ["example.com"], 'max_taint = "secret"'),
    };
    assert.equal(flowsOf(open)["secret > http_fetch"], "approved read_file /srv/keys, unapproved http_fetch example.com");
  });

  test("doesn't take a use twice on a way", () => {
    const once = { web: grantText("http_fetch", "auto", ["example.com"], 'if_untrusted = "auto"', "uses = 1") };
    assert.equal(flowsOf(once)["untrusted > http_fetch"], "none");
    const twice = { web: grantText("http_fetch", "auto", ["example.com"], 'if_untrusted = "auto"', "uses = 2") };
    assert.equal(flowsOf(twice)["untrusted > http_fetch"], "unapproved http_fetch example.com, unapproved http_fetch example.com");
  });

  test("keeps to one kind of session on a way: what another origin may read leads nowhere here", () => {
    const apart = {
      keys: grantText("read_file", "auto", ["/srv/keys"], 'label = "secret"', 'origins = ["terminal"]'),
      web: grantText("http_fetch", "auto", ["example.com"], 'max_taint = "secret"', 'origins = ["gateway"]'),
    };
    assert.equal(flowsOf(apart)["secret > http_fetch"], "none");
    assert.equal(verify(setOf(apart), NOW).covered.sessions, 3);
  });

  test("says what it didn't look at where many limited grants speak about one call", () => {
    const many = Object.fromEntries(
      Array.from({ length: 6 }, (_, index) => [`g${index}`, grantText("read_file", "auto", ["/srv/a"], "uses = 1")]),
    );
    assert.equal(verify(setOf(many), NOW).covered.limits.length, 1);
  });

  test("has nothing to say against an empty set", () => {
    const { holds, flows } = verify(setOf({}), NOW);
    assert.equal(holds, true);
    assert.ok(flows.every(({ trace }) => trace === null));
  });
});
