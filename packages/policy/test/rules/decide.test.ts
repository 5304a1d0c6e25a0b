/** The rule of decisions, step by step. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DENIAL_SENTENCES } from "@boxmaker/proto";
import { decide, type Verdict } from "../../src/rules/decide.ts";
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
  read,
  request,
  type StateFields,
  shell,
  state,
  valid,
  write,
} from "./support.ts";

describe("decide() before any grant is looked at", () => {
  test("denies everything while the grants are invalid, and records it", () => {
    const problems = [{ file: "/g/a.toml", line: 1, problem: "bad" }];
    const verdict = decide(read("/srv/notes/a"), { kind: "invalid", problems }, state(), NOW, BOX);
    assert.equal(outcome(verdict), "grants_invalid");
    assert.deepEqual(verdict.record.arguments, { form: "typed", call: { tool: "read_file", arguments: { path: "/srv/notes/a" } } });
    assert.equal(verdict.record.grant, null);
    assert.equal(verdict.record.outcome, "denied");
  });

  test("denies an unknown tool as no_grant without reading its arguments", () => {
    const verdict = ask(request("rm", "{}"), [grant()]);
    assert.equal(outcome(verdict), "no_grant");
    assert.deepEqual(verdict.record.arguments, { form: "unread", text: "{}" });
    assert.equal(verdict.record.tool, "rm");
  });

  for (const text of [
    "",
    "[]",
    '{"path":"/srv/notes/a","path":"/srv/notes/b"}',
    '{"path":"srv"}',
    '{"path":"/srv/notes/../x"}',
    '{"path":"/a","x":1}',
  ]) {
    test(`denies arguments that don't parse: ${text}`, () => {
      const verdict = ask(request("read_file", text), [grant()]);
      assert.equal(outcome(verdict), "invalid_arguments");
      assert.deepEqual(verdict.record.arguments, { form: "unread", text });
    });
  }

  test("has a sentence for the model for every reason that it gives", () => {
    const reasons = [
      "grants_invalid",
      "no_grant",
      "invalid_arguments",
      "denied_by_grant",
      "audience",
      "untrusted",
      "taint",
      "uses_spent",
      "expired",
    ] as const;
    for (const reason of reasons) assert.match(DENIAL_SENTENCES[reason], /^Denied: /u);
  });
});

/** A call, the grants, the state, and what is expected of them. */
type Row = readonly [name: string, expected: string, grants: readonly GrantFields[], state: StateFields];

const ROWS: readonly Row[] = [
  ["without a grant", "no_grant", [], {}],
  ["with an auto grant", "auto", [{}], {}],
  ["with an ask grant", "ask", [{ mode: "ask" }], {}],
  ["with a deny", "denied_by_grant", [{ mode: "deny" }], {}],
  ["with an auto grant and an ask", "ask", [{}, { id: "b", mode: "ask" }], {}],
  ["with an auto grant and a deny", "denied_by_grant", [{}, { id: "b", mode: "deny" }], {}],
  ["with two auto grants of which one permits", "auto", [{ max_taint: "public" }, { id: "b" }], { taint: "private" }],
  ["at the taint of max_taint", "auto", [{ max_taint: "private" }], { taint: "private" }],
  ["above max_taint", "taint", [{ max_taint: "private" }], { taint: "secret" }],
  ["at the default max_taint of read_file", "auto", [{}], { taint: "secret" }],
  ["with an ask that has expired, which still restricts", "ask", [{}, { id: "b", mode: "ask", expires: EARLIER }], {}],
  [
    "with an ask above its max_taint, which still restricts",
    "ask",
    [{}, { id: "b", mode: "ask", max_taint: "public" }],
    { taint: "private" },
  ],
  ["with an ask whose uses are spent, which still restricts", "ask", [{}, { id: "b", mode: "ask", uses: 1 }], { spent: { b: 1 } }],
  ["with only an expired ask", "expired", [{ mode: "ask", expires: EARLIER }], {}],
  ["with an auto grant that has expired", "expired", [{ expires: EARLIER }], {}],
  ["with one that expires later", "auto", [{ expires: LATER }], {}],
  ["at the very millisecond of the expiry", "expired", [{ expires: NOW }], {}],
  ["a millisecond before the expiry", "auto", [{ expires: "2026-11-01T00:00:00.001Z" }], {}],
  ["with a use left", "auto", [{ uses: 2 }], { spent: { notes: 1 } }],
  ["with no use left", "uses_spent", [{ uses: 2 }], { spent: { notes: 2 } }],
  ["when untrusted, with the default of read_file", "auto", [{}], { untrusted: true }],
  ["when untrusted, with if_untrusted ask", "ask", [{ if_untrusted: "ask" }], { untrusted: true }],
  ["when trusted, with if_untrusted deny", "auto", [{ if_untrusted: "deny" }], {}],
  ["when untrusted, with if_untrusted deny", "untrusted", [{ if_untrusted: "deny" }], { untrusted: true }],
  [
    "when untrusted, where if_untrusted can't make an ask milder",
    "ask",
    [{ mode: "ask", if_untrusted: "auto" }],
    { untrusted: true },
  ],
  [
    "when untrusted and too tainted",
    "taint",
    [{ if_untrusted: "deny", max_taint: "public" }],
    { untrusted: true, taint: "private" },
  ],
  [
    "when untrusted, where only another grant is too tainted",
    "untrusted",
    [{ if_untrusted: "deny" }, { id: "b", max_taint: "public" }],
    { untrusted: true, taint: "private" },
  ],
  ["spent and expired", "uses_spent", [{ uses: 1, expires: EARLIER }], { spent: { notes: 1 } }],
  ["too tainted and spent", "taint", [{ uses: 1, max_taint: "public" }], { spent: { notes: 1 }, taint: "private" }],
  ["above the ceiling", "audience", [{}], { ceiling: "public" }],
  ["at the ceiling", "auto", [{}], { ceiling: "private" }],
  [
    "above the ceiling by the label of another grant that speaks about it",
    "audience",
    [{}, { id: "b", label: "secret" }],
    { ceiling: "private" },
  ],
  ["above the ceiling and too tainted", "audience", [{ max_taint: "public" }], { ceiling: "public", taint: "private" }],
  ["denied by a grant and above the ceiling", "denied_by_grant", [{ mode: "deny" }], { ceiling: "public" }],
  ["in another session than the grant's", "no_grant", [{ session: "chat-2" }], {}],
  ["in the grant's session", "auto", [{ session: "chat-1" }], {}],
  ["from an origin that isn't in the list", "no_grant", [{ origins: ["terminal", "gateway"] }], { origin: "mcp" }],
  ["from an origin of the list", "auto", [{ origins: ["mcp"] }], { origin: "mcp" }],
  ["with a deny for other origins", "auto", [{}, { id: "b", mode: "deny", origins: ["gateway"] }], {}],
];

describe("decide() read_file /srv/notes/a.md", () => {
  for (const [name, expected, grants, fields] of ROWS) {
    test(`${name}: ${expected}`, () => {
      const loaded = grants.map((each) => grant(each));
      assert.equal(outcome(ask(read("/srv/notes/a.md"), loaded, fields)), expected);
      assert.equal(outcome(ask(read("/srv/notes/a.md"), loaded.toReversed(), fields)), expected);
    });
  }
});

describe("decide() by the defaults of the tools", () => {
  const sinks = [
    ["write_file", write("/srv/notes/a"), "private"],
    ["shell", shell("/srv/notes"), "private"],
    ["http_fetch", fetchOf("https://example.com/"), "public"],
  ] as const;
  for (const [tool, call, highest] of sinks) {
    test(`asks for ${tool} once the session is untrusted`, () => {
      assert.equal(outcome(ask(call, [grant({ tool })])), "auto");
      assert.equal(outcome(ask(call, [grant({ tool })], { untrusted: true })), "ask");
    });

    test(`permits ${tool} up to ${highest}`, () => {
      assert.equal(outcome(ask(call, [grant({ tool })], { taint: highest })), "auto");
      assert.equal(outcome(ask(call, [grant({ tool })], { taint: highest === "public" ? "private" : "secret" })), "taint");
    });
  }

  test("labels what is fetched as public and untrusted, what is read as private", () => {
    assert.deepEqual(ask(fetchOf("https://example.com/"), [grant({ tool: "http_fetch" })]).record.label, {
      taint: "public",
      untrusted: true,
    });
    assert.deepEqual(ask(read("/srv/notes/a"), [grant()]).record.label, { taint: "private", untrusted: false });
  });
});

describe("decide() names", () => {
  const named = (grants: readonly GrantFields[], at = "/srv/notes/sub/a"): string | null =>
    ask(
      read(at),
      grants.map((each) => grant(each)),
    ).record.grant;

  test("the most restrictive mode before the longest path", () => {
    const grants = [
      { id: "deep", paths: ["/srv/notes/sub"] },
      { id: "wide", mode: "ask", paths: ["/srv"] },
    ];
    assert.equal(named(grants), "wide");
    assert.equal(named([...grants, { id: "no", mode: "deny", paths: ["/srv"] }]), "no");
  });

  test("the longest matched path before the lowest id", () => {
    assert.equal(
      named([
        { id: "a", paths: ["/srv/notes"] },
        { id: "b", paths: ["/srv", "/srv/notes/sub"] },
      ]),
      "b",
    );
  });

  test("the lowest id of equals, in whatever order they come", () => {
    assert.equal(named([{ id: "b" }, { id: "a" }]), "a");
    assert.equal(named([{ id: "a" }, { id: "b" }]), "a");
  });

  test("nothing where no grant speaks about the call", () => {
    assert.equal(named([{ paths: ["/srv/other"] }]), null);
  });
});

describe("decide() records", () => {
  const grants = [grant({ id: "b", uses: 3 }), grant({ id: "a", mode: "ask", max_taint: "public", label: "secret" })];
  const labels = [
    { path: path("/srv"), label: { taint: "private", untrusted: true } },
    { path: path("/srv/notes/other"), label: { taint: "secret", untrusted: true } },
  ] as const;
  const decided = (): Verdict => ask(read("/srv/notes/a.md"), grants, { taint: "private", spent: { b: 1 }, pathLabels: labels });

  test("the whole input: state, time, labels of the paths that were read, uses left, and what each grant said", () => {
    const { record } = decided();
    assert.deepEqual(record.before, { taint: "private", untrusted: false });
    assert.equal(record.now, NOW);
    assert.deepEqual(record.path_labels, [labels[0]]);
    assert.deepEqual(record.uses_left, [{ grant: "b", left: 2 }]);
    assert.deepEqual(record.matched, [
      { grant: "a", sha256: grants[1]?.sha256, effect: "deny" },
      { grant: "b", sha256: grants[0]?.sha256, effect: "auto" },
    ]);
    assert.equal(record.grant, "a");
    assert.equal(record.grant_sha256, grants[1]?.sha256);
  });

  test("the effect of an ask that if_untrusted can't make milder", () => {
    const { matched } = ask(read("/srv/notes/a.md"), [grant({ mode: "ask", if_untrusted: "auto" })], { untrusted: true }).record;
    assert.deepEqual(
      matched.map(({ effect }) => effect),
      ["ask"],
    );
  });

  test("the label as the join of all grants that speak about the call and of the paths", () => {
    assert.deepEqual(decided().record.label, { taint: "secret", untrusted: true });
  });

  test("no rise of the state for an ask, the state after it for a call that runs", () => {
    const verdict = decided();
    assert.equal(verdict.kind, "ask");
    assert.equal(verdict.record.raises, null);
    const allowed = ask(read("/srv/notes/a.md"), [grant()], { taint: "public", untrusted: true });
    assert.deepEqual(allowed.record.raises, { taint: "private", untrusted: true });
    assert.deepEqual(ask(read("/srv/notes/a.md"), [grant({ label: "public" })], { taint: "secret" }).record.raises, {
      taint: "secret",
      untrusted: false,
    });
  });

  test("neither plan nor rise for a denial", () => {
    const { record } = ask(read("/srv/notes/a.md"), [grant({ mode: "deny" })]);
    assert.equal(record.run, null);
    assert.equal(record.raises, null);
    assert.equal(record.outcome, "denied");
    assert.equal(record.reason, "denied_by_grant");
  });
});

describe("decide() spends", () => {
  const spends = (grants: readonly GrantFields[], fields: StateFields = {}): string | null | undefined => {
    const verdict = ask(
      read("/srv/notes/a"),
      grants.map((each) => grant(each)),
      fields,
    );
    return verdict.kind === "allowed" ? verdict.uses : undefined;
  };

  test("a use of the grant that permits", () => {
    assert.equal(spends([{ uses: 2 }]), "notes");
  });

  test("nothing where a grant without a limit permits the same", () => {
    assert.equal(spends([{ uses: 2 }, { id: "b" }]), null);
  });

  test("a use of the one that gives the most, though another is named", () => {
    const grants = [
      { id: "a", if_untrusted: "ask" },
      { id: "b", uses: 1 },
    ];
    assert.equal(spends(grants, { untrusted: true }), "b");
    assert.equal(spends(grants), null);
  });

  test("a use of the first of several that all have a limit", () => {
    assert.equal(
      spends([
        { id: "b", uses: 1 },
        { id: "a", uses: 1 },
      ]),
      "a",
    );
    assert.equal(
      spends(
        [
          { id: "b", uses: 1 },
          { id: "a", uses: 1 },
        ],
        { spent: { a: 1 } },
      ),
      "b",
    );
  });
});

test("decide() depends on nothing but its arguments: the same twice", () => {
  const twice = [1, 2].map(() => decide(read("/srv/notes/a"), valid(grant()), state(), NOW, BOX).record);
  assert.deepEqual(twice[0], twice[1]);
});
