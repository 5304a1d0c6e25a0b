/** Why a call gets what it gets: the field, its line, and what would let it pass. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { setFromTexts } from "../../src/grants/index.ts";
import type { StateFields } from "../rules/support.ts";
import { callOf, explainIn, grantText, setOf } from "./support.ts";

const fetchNews = callOf("http_fetch", { url: "https://news.example/" });

describe("explain()", () => {
  test("names the field that decided and its line, for each kind of field", () => {
    const cases = [
      { keys: [], fields: {}, because: "mode", line: 3, effect: "auto" },
      { keys: ['max_taint = "public"'], fields: { taint: "secret" }, because: "max_taint", line: 4, effect: "deny" },
      {
        keys: ['max_taint = "secret"', 'if_untrusted = "deny"'],
        fields: { untrusted: true },
        because: "if_untrusted",
        line: 5,
        effect: "deny",
      },
      { keys: ["uses = 2"], fields: { spent: { web: 2 } }, because: "uses", line: 4, effect: "deny" },
      { keys: ["expires = 2026-01-01T00:00:00Z"], fields: {}, because: "expires", line: 4, effect: "deny" },
    ] as const;
    for (const { keys, fields, because, line, effect } of cases) {
      const set = setOf({ web: grantText("http_fetch", "auto", ["news.example"], ...keys) });
      const [matched] = explainIn(set, fetchNews, fields).matched;
      assert.deepEqual([matched?.because, matched?.line, matched?.effect, matched?.isDefault], [because, line, effect, false]);
    }
  });

  test("says of a field that the file leaves out that it is a default, at the line of the id", () => {
    const set = setOf({ web: `# a remark\n${grantText("http_fetch", "auto", ["news.example"])}` });
    const [matched] = explainIn(set, fetchNews, { taint: "private" }).matched;
    assert.deepEqual([matched?.because, matched?.line, matched?.isDefault], ["max_taint", 1, true]);
  });

  test("says of each grant that doesn't match which constraint fails first, and where it stands", () => {
    const set = setOf({
      elsewhere: grantText("http_fetch", "auto", ["other.example"]),
      theirs: grantText("http_fetch", "auto", ["news.example"], 'session = "chat-9"'),
      chat: grantText("http_fetch", "auto", ["news.example"], 'origins = ["gateway"]'),
      deep: `${grantText("http_fetch", "auto", ["news.example"])}[constraints.args]\nurl = { prefix = "https://news.example/a/" }\n`,
      read: grantText("read_file", "auto", ["/srv/notes"]),
    });
    const { outcome, reason, unmatched } = explainIn(set, fetchNews);
    assert.deepEqual([outcome, reason], ["denied", "no_grant"]);
    assert.deepEqual(
      unmatched.map(({ grant, fails, argument, line }) => [grant, fails, argument, line]),
      [
        ["elsewhere", "hosts", null, 5],
        ["theirs", "session", null, 4],
        ["chat", "origins", null, 4],
        ["deep", "args", "url", 7],
      ],
    );
  });

  test("says what would let a call pass that was denied for its taint: a new session, or any state below", () => {
    const set = setOf({ web: grantText("http_fetch", "auto", ["news.example"], 'max_taint = "private"', 'if_untrusted = "auto"') });
    const { reason, wouldPass } = explainIn(set, fetchNews, { taint: "secret" });
    assert.equal(reason, "taint");
    assert.deepEqual(wouldPass, [
      { kind: "new_session", gives: "allowed" },
      { kind: "state", state: { taint: "private", untrusted: true }, gives: "allowed" },
    ]);
  });

  test("says who may approve a call that asks, and that a restriction keeps it from running unasked", () => {
    const set = setOf({
      web: grantText("http_fetch", "auto", ["news.example"]),
      careful: grantText("http_fetch", "ask", ["news.example"], 'approvers = ["bxctl", "gateway"]'),
    });
    const { outcome, grant, approvers, wouldPass } = explainIn(set, fetchNews);
    assert.deepEqual([outcome, grant, approvers], ["ask", "careful", ["bxctl", "gateway"]]);
    assert.deepEqual(wouldPass, [
      { kind: "approval", approvers: ["bxctl", "gateway"], gives: "allowed" },
      { kind: "remove_restriction", grant: "careful", gives: "allowed" },
    ]);
  });

  test("says that more uses, a later expiry, another origin or a higher ceiling would do", () => {
    const spent = setOf({ web: grantText("http_fetch", "auto", ["news.example"], "uses = 1") });
    assert.deepEqual(explainIn(spent, fetchNews, { spent: { web: 1 } }).wouldPass, [
      { kind: "more_uses", grant: "web", gives: "allowed" },
    ]);
    const old = setOf({ web: grantText("http_fetch", "ask", ["news.example"], "expires = 2026-01-01T00:00:00Z") });
    assert.deepEqual(explainIn(old, fetchNews).wouldPass, [{ kind: "later_expiry", grant: "web", gives: "ask" }]);
    const chat = setOf({ web: grantText("http_fetch", "auto", ["news.example"], 'origins = ["gateway"]') });
    assert.deepEqual(explainIn(chat, fetchNews).wouldPass, [{ kind: "origin", origin: "gateway", gives: "allowed" }]);
    const diary = setOf({ notes: grantText("read_file", "auto", ["/srv/notes"]) });
    const narrow = explainIn(diary, callOf("read_file", { path: "/srv/notes/a" }), { ceiling: "public" });
    assert.equal(narrow.reason, "audience");
    assert.deepEqual(narrow.wouldPass, [{ kind: "ceiling", ceiling: "private", gives: "allowed" }]);
  });

  test("gives the labels of the paths that would be read, and the state after", () => {
    const set = setOf({ home: grantText("read_file", "auto", ["/home/me"]) });
    const { label, before, after, pathLabels } = explainIn(set, callOf("read_file", { path: "/home/me/.ssh/id" }));
    assert.deepEqual(pathLabels, [{ path: "/home/me/.ssh", label: { taint: "secret", untrusted: false } }]);
    assert.deepEqual([label?.taint, before.taint, after?.taint], ["secret", "public", "secret"]);
  });

  test("says what tools.toml gives a call that no grant permits, and nothing of it where no grant could name the place", () => {
    const files = [
      { file: "etc/tools.toml", text: '[read_file]\notherwise = "ask"\nmax_taint = "private"\nif_untrusted = "deny"\n' },
    ];
    const set = setFromTexts(files, [AbsPath.parse("/srv/box")]);
    if (set.kind !== "valid") assert.fail(JSON.stringify(set.problems));
    const at = (path: string, fields: StateFields = {}): unknown => {
      const { outcome, reason, otherwise } = explainIn(set, callOf("read_file", { path }), fields);
      return [outcome, reason, otherwise?.effect ?? null, otherwise?.because ?? null];
    };
    assert.deepEqual(at("/srv/a"), ["ask", null, "ask", "otherwise"]);
    assert.deepEqual(at("/srv/a", { taint: "secret" }), ["denied", "taint", "deny", "max_taint"]);
    assert.deepEqual(at("/srv/a", { untrusted: true }), ["denied", "untrusted", "deny", "if_untrusted"]);
    assert.deepEqual(at("/srv/box/run"), ["denied", "no_grant", null, null]);
  });

  test("names the grant that switches off what tools.toml says", () => {
    const files = [
      { file: "etc/tools.toml", text: '[read_file]\notherwise = "ask"\n' },
      { file: "old.toml", text: `id = "old"\n${grantText("read_file", "auto", ["/srv/a"], "uses = 1", 'if_untrusted = "deny"')}` },
    ];
    const set = setFromTexts(files, []);
    if (set.kind !== "valid") assert.fail(JSON.stringify(set.problems));
    const { reason, otherwise } = explainIn(set, callOf("read_file", { path: "/srv/a/x" }), { spent: { old: 1 } });
    assert.deepEqual([reason, otherwise], ["uses_spent", { effect: "deny", because: "grant", grant: "old" }]);
  });
});
