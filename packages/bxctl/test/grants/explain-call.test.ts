import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdminAnswer, sha256 } from "@boxmaker/proto";
import { findPlaces } from "../../src/box/places.ts";
import { type ExplainFlags, explainCall } from "../../src/grants/explain-call.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { explanation } from "../support/explanations.ts";
import { memoryScreen } from "../support/memory-stream.ts";
import { listenAdmin } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

const SECRET = { taint: "secret", untrusted: false };
const HASH = sha256("grant");

async function explain(words: readonly string[], flags: ExplainFlags = {}, answer: AdminAnswer = explanation(), json = false) {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, () => answer);
  const out = memoryScreen();
  const err = memoryScreen();
  const [tool = "", ...rest] = words;
  const command = { places: findPlaces({ home: home.path }, {}), out: out.screen, err: err.screen, json };
  const status = await explainCall(command, tool, rest, flags);
  return { status, out: out.stream.text, err: err.stream.text, request: admin.requests[0] };
}

test("arguments are words or one JSON object, and the state is the session's or the one that is asked about", async () => {
  const words = await explain(["write_file", "path=/a", "content=x=y"], { taint: "private", untrusted: true });
  assert.deepEqual(words.request, {
    kind: "explain",
    body: {
      session: null,
      state: { taint: "private", untrusted: true },
      tool: "write_file",
      arguments: '{"path":"/a","content":"x=y"}',
    },
  });
  const json = await explain(["shell", ' {"command": "ls", "command": "rm"}'], { session: "holidays" });
  assert.deepEqual(json.request, {
    kind: "explain",
    body: { session: "holidays", state: null, tool: "shell", arguments: ' {"command": "ls", "command": "rm"}' },
  });
  assert.deepEqual((await explain(["shell"], { untrusted: true })).request?.body, {
    session: null,
    state: { taint: "public", untrusted: true },
    tool: "shell",
    arguments: "{}",
  });
});

test("the status says what the call comes to", async () => {
  assert.equal((await explain(["shell"], {}, explanation())).status, 0);
  assert.equal((await explain(["shell"], {}, explanation({ outcome: "ask" }))).status, 10);
  assert.equal((await explain(["shell"], {}, explanation({ outcome: "denied", reason: "no_grant" }))).status, 20);
});

test("a denial names the rule, its file and line, what the session has seen, by which call, and what would do", async () => {
  const { out, err } = await explain(
    ["http_fetch", "url=https://example.com/"],
    {},
    explanation({
      outcome: "denied",
      reason: "taint",
      grant: "web",
      label: { taint: "public", untrusted: true },
      before: SECRET,
      raised_by: [{ decision: 12, call: 7, tool: "read_file", after: SECRET }],
      matched: [
        {
          grant: "web",
          file: "web.toml",
          line: 4,
          sha256: HASH,
          mode: "auto",
          effect: "deny",
          because: "max_taint",
          is_default: false,
        },
        {
          grant: "old",
          file: "old.toml",
          line: 1,
          sha256: HASH,
          mode: "auto",
          effect: "deny",
          because: "expires",
          is_default: false,
        },
      ],
      unmatched: [{ grant: "news", file: "news.toml", line: 6, sha256: HASH, fails: "hosts", argument: null }],
      unmatched_more: 2,
      otherwise: { effect: "deny", because: "max_taint", grant: null },
      would_pass: [
        { kind: "new_session", gives: "allowed" },
        { kind: "state", state: { taint: "private", untrusted: false }, gives: "ask" },
      ],
    }),
  );
  assert.deepEqual(
    [out, err],
    [
      [
        "http_fetch: denied: the session has seen data too confidential for it",
        '  rules       "web" in "web.toml" line 4: deny, by max_taint: the session has seen secret data',
        '              "old" in "old.toml" line 1: deny, by expires: it has expired',
        "  otherwise   deny, by tools.toml, max_taint: the session has seen secret data",
        '  not about   "news" in "news.toml" line 6: names other hosts',
        "              and 2 more",
        "  seen so far secret (may see secret, comes from terminal)",
        "  raised by   call 7: read_file, to secret (record 12)",
        "  result is   public, untrusted",
        "  would pass  a new session (runs)",
        "              a session that has seen no more than private (asks)",
        "",
      ].join("\n"),
      "",
    ],
  );
});

test("every rule, misfit and remedy has its words", async () => {
  const place = { grant: "g", file: "g.toml", line: 1, sha256: HASH };
  const match = { ...place, mode: "auto", effect: "ask", is_default: true };
  const { out } = await explain(
    ["shell"],
    {},
    explanation({
      outcome: "ask",
      after: SECRET,
      approvers: ["bxctl", "gateway"],
      path_labels: [{ path: "/srv/notes", label: SECRET }],
      matched: (["mode", "if_untrusted", "max_taint", "uses"] as const).map((because) => ({ ...match, because })),
      unmatched: (["session", "origins", "paths", "args"] as const).map((fails) => ({
        ...place,
        fails,
        argument: fails === "args" ? "cwd" : null,
      })),
      otherwise: { effect: "deny", because: "grant", grant: "g" },
      would_pass: [
        { kind: "approval", approvers: ["bxctl", "gateway"], gives: "allowed" },
        { kind: "origin", origin: "mcp", gives: "allowed" },
        { kind: "ceiling", ceiling: "secret", gives: "allowed" },
        { kind: "more_uses", grant: "g", gives: "ask" },
        { kind: "later_expiry", grant: "g", gives: "allowed" },
        { kind: "remove_restriction", grant: "g", gives: "allowed" },
      ],
    }),
  );
  for (const words of [
    "ask, by mode = auto",
    "by if_untrusted, its default: the session has read text of strangers",
    "by max_taint, its default: the session has seen public data",
    "by uses: all are spent",
    "is for another session",
    "is for sessions of another origin",
    "names other paths",
    'its rule for "cwd" doesn\'t fit',
    'deny: tools.toml doesn\'t count here, since "g" says if_untrusted = deny',
    '"/srv/notes": secret',
    "may approve bxctl, gateway",
    "an approval, by bxctl or gateway",
    "a session that comes from mcp (runs)",
    "a session that may see secret data (runs)",
    'more uses of "g" (asks)',
    'a later expires of "g" (runs)',
    'without "g" (runs)',
  ]) {
    assert.ok(out.includes(words), `${words}\n${out}`);
  }
  for (const because of ["otherwise", "if_untrusted"] as const) {
    const said = (await explain(["shell"], {}, explanation({ otherwise: { effect: "ask", because, grant: null } }))).out;
    assert.match(said, /otherwise {3}ask, by tools\.toml/u);
  }
  const unread = explanation({ outcome: "denied", reason: "invalid_arguments", problem: "path: expected an absolute path" });
  assert.match(
    (await explain(["shell"], {}, unread)).out,
    /problem {5}path: expected .+\n.+\n {2}would pass {2}only as another call\n$/u,
  );
  const nothing = explanation({ outcome: "denied", reason: "no_grant" });
  assert.match((await explain(["shell"], {}, nothing)).out, /would pass {2}only with another grant\n$/u);
});

test("--json is what brokerd says", async () => {
  const { out, status } = await explain(["shell"], {}, explanation({ outcome: "ask" }), true);
  assert.equal(status, 10);
  assert.deepEqual(JSON.parse(out), explanation({ outcome: "ask" }).body);
});

test("what isn't understood is status 2, and nothing is asked", async () => {
  for (const [words, flags] of [
    [["shell", "ls"], {}],
    [["shell", "command=a", "command=b"], {}],
    [["shell", "=x"], {}],
    [["shell", "Command=x\u001b"], {}],
    [[""], {}],
    [["shell"], { session: "No Id\u001b" }],
    [["shell"], { taint: "top\u202e" }],
    [["shell"], { session: "a", taint: "public" }],
    [["shell"], { session: "a", untrusted: true }],
  ] as const) {
    const { status, out, err, request } = await explain(words, flags);
    assert.deepEqual([status, out, request], [2, "", undefined], words.join(" "));
    assert.match(err, /^bxctl: [^\n]+\n$/u);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("a brokerd that is away or refuses is status 1", async () => {
  const refused = await explain(["shell"], {}, { kind: "error", body: { code: "internal", detail: "no \u001b[2J" } });
  assert.deepEqual([refused.status, refused.out, refused.err], [1, "", "bxctl: brokerd: internal: no \\u001b[2J\n"]);
});

test("nothing that brokerd says of a call can steer the terminal", async () => {
  for (const text of HOSTILE) {
    const place = { grant: text, file: text, line: 1, sha256: HASH };
    const answer = explanation({
      outcome: "denied",
      problem: text,
      grant: text,
      raised_by: [{ decision: 1, call: 1, tool: text, after: SECRET }],
      matched: [{ ...place, mode: "auto", effect: "ask", because: "mode", is_default: false }],
      unmatched: [{ ...place, fails: "args", argument: text }],
      otherwise: { effect: "deny", because: "grant", grant: text },
      would_pass: (["more_uses", "later_expiry", "remove_restriction"] as const).map((kind) => ({
        kind,
        grant: text,
        gives: "ask",
      })),
    });
    for (const json of [false, true]) {
      const { out } = await explain([text.slice(0, 100), '{"a":1}'], {}, answer, json);
      assert.notEqual(out, "");
      assert.equal(findUnsafe(out), undefined);
    }
  }
});
