/** The owner's table of cases. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseTestTable, runTestTable, type TableResult } from "../../src/analysis/index.ts";
import { grantText, NOW, setOf } from "./support.ts";

const GRANTS = {
  notes: grantText("read_file", "auto", ["/srv/notes"]),
  web: grantText("http_fetch", "auto", ["example.com"], "uses = 1"),
  spare: grantText("shell", "ask", ["/srv/work"]),
};

function run(text: string): TableResult {
  const table = parseTestTable(text);
  assert.equal(table.kind, "ok", JSON.stringify(table));
  return runTestTable(table.kind === "ok" ? table.cases : [], setOf(GRANTS), NOW);
}

describe("a table of cases", () => {
  test("says which cases passed, and which grants none of them exercised", () => {
    const { cases, passed, failed, unexercised } = run(`
[[cases]]
name = "notes are read"
tool = "read_file"
args = { path = "/srv/notes/a.md" }
state = { taint = "secret", untrusted = true }
expect = "auto"
grant = "notes"

[[cases]]
tool = "http_fetch"
args = { url = "https://example.com/" }
state = { taint = "private" }
expect = "deny"
reason = "taint"
`);
    assert.deepEqual([passed, failed, unexercised], [2, 0, ["spare"]]);
    assert.deepEqual(
      cases.map(({ name, line }) => [name, line]),
      [
        ["notes are read", 2],
        ["case 2", 10],
      ],
    );
  });

  test("fails a case whose outcome, reason or grant is another", () => {
    const fetch = '[[cases]]\ntool = "http_fetch"\nargs = { url = "https://example.com/" }\n';
    const { cases } = run(
      [
        `${fetch}expect = "ask"`,
        `${fetch}expect = "deny"\nreason = "taint"\nstate = { spent = { web = 1 } }`,
        `${fetch}expect = "auto"\ngrant = "notes"`,
        `${fetch}expect = "auto"`,
      ].join("\n"),
    );
    assert.deepEqual(
      cases.map(({ passed }) => passed),
      [false, false, false, true],
    );
    assert.deepEqual(cases[1]?.found, { outcome: "deny", reason: "uses_spent", grant: "web" });
  });

  test("takes every part of a state into account", () => {
    const grants = setOf({
      web: grantText(
        "http_fetch",
        "auto",
        ["example.com"],
        'origins = ["mcp"]',
        'session = "chat-9"',
        "expires = 2026-12-01T00:00:00Z",
        'label = "private"',
      ),
    });
    const stateOf = (state: string): string =>
      `[[cases]]\ntool = "http_fetch"\nargs = { url = "https://example.com/" }\nexpect = "auto"\nstate = ${state}`;
    const all = [
      '{ origin = "mcp", session = "chat-9" }',
      '{ origin = "mcp" }',
      '{ session = "chat-9" }',
      '{ origin = "mcp", session = "chat-9", now = 2026-12-01T00:00:00Z }',
      '{ origin = "mcp", session = "chat-9", ceiling = "public" }',
    ];
    const table = parseTestTable(all.map(stateOf).join("\n"));
    assert.equal(table.kind, "ok");
    const { cases } = runTestTable(table.kind === "ok" ? table.cases : [], grants, NOW);
    assert.deepEqual(
      cases.map(({ found }) => found.reason),
      [null, "no_grant", "no_grant", "expired", "audience"],
    );
  });

  test("finds all problems of the table at once, each at its line", () => {
    const table = parseTestTable(`
[[cases]]
tool = "read_file"
args = { path = "notes" }
expect = "auto"

[[cases]]
tool = "http_fetch"
args = { url = "https://example.com/" }
expect = "auto"
reason = "taint"
`);
    assert.equal(table.kind, "invalid");
    const problems = table.kind === "invalid" ? table.problems : [];
    assert.deepEqual(
      problems.map(({ line }) => line),
      [4, 11],
    );
    assert.match(problems[0]?.problem ?? "", /no call of read_file looks like this/u);
    assert.match(problems[1]?.problem ?? "", /only a denial has one/u);
  });

  test("refuses an empty table, an unknown key and an unknown tool", () => {
    for (const text of [
      "",
      "cases = []",
      '[[cases]]\ntool = "rm"\nargs = {}\nexpect = "auto"',
      '[[cases]]\ntool = "shell"\nargs = { command = "x" }\nexpect = "auto"\nexpct = 1',
    ]) {
      assert.equal(parseTestTable(text).kind, "invalid", text);
    }
  });
});
