/** What `tools.toml` may say, line by line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseToolsFile } from "../../src/grants/parse-tools-file.ts";

function problemsOf(text: string): readonly string[] {
  return parseToolsFile(text).problems.map(({ line, problem }) => `${line}: ${problem}`);
}

test("parseToolsFile() reads every key of every tool", () => {
  const keys = 'otherwise = "ask"\nmax_taint = "secret"\nif_untrusted = "deny"\nlabel = "secret"\nuntrusted = true\n';
  const { problems, rules } = parseToolsFile(`[read_file]\n${keys}[write_file]\n${keys}[shell]\n${keys}[http_fetch]\n${keys}`);
  assert.deepEqual(problems, []);
  assert.deepEqual([...rules.keys()], ["read_file", "write_file", "shell", "http_fetch"]);
  for (const rule of rules.values()) {
    assert.deepEqual(rule, { effect: "ask", maxTaint: "secret", ifUntrusted: "deny", label: "secret", untrusted: true });
  }
});

describe("parseToolsFile() fills in the defaults of a grant of", () => {
  const defaults = {
    read_file: ["secret", "auto", "private", false],
    write_file: ["private", "ask", "private", false],
    shell: ["private", "ask", "private", false],
    http_fetch: ["public", "ask", "public", true],
  } as const;
  for (const [tool, expected] of Object.entries(defaults)) {
    test(tool, () => {
      const [rule] = parseToolsFile(`[${tool}]\notherwise = "ask"\n`).rules.values();
      assert.deepEqual([rule?.maxTaint, rule?.ifUntrusted, rule?.label, rule?.untrusted], expected);
    });
  }
});

test("parseToolsFile() takes a tool that is denied for one of which nothing is said, and an empty file for no rules", () => {
  for (const text of ["", "# nothing yet\n", '[shell]\notherwise = "deny"\n']) {
    assert.deepEqual(parseToolsFile(text), { rules: new Map(), problems: [] });
  }
});

describe("parseToolsFile() refuses", () => {
  const rows: readonly (readonly [string, string, readonly RegExp[]])[] = [
    ["text that isn't TOML", '[shell]\notherwise = "ask', [/^2: not TOML: /u]],
    ["an unknown tool", '[rm]\notherwise = "ask"\n', [/^1: unknown key "rm"$/u]],
    ["an unknown key", '[shell]\notherwise = "ask"\nuses = 1\n', [/^3: unknown key "uses"$/u]],
    [
      "a table that says nothing",
      '[shell]\nlabel = "secret"\n',
      [/^1: shell\.otherwise: missing, expected one of "ask", "deny"$/u],
    ],
    [
      "a call that nobody sees",
      '[shell]\notherwise = "auto"\n',
      [/^2: shell\.otherwise: expected one of "ask", "deny", got "auto"$/u],
    ],
    ["a class that doesn't exist", '[shell]\notherwise = "ask"\nlabel = "top"\n', [/^3: shell\.label: /u]],
    ["a text for a truth value", '[shell]\notherwise = "ask"\nuntrusted = "yes"\n', [/^3: shell\.untrusted: /u]],
    [
      "limits of what is denied, all at once",
      '[shell]\notherwise = "deny"\nlabel = "secret"\nmax_taint = "public"\n[http_fetch]\notherwise = "deny"\nuntrusted = true\n',
      [/^4: shell\.max_taint: says nothing where/u, /^3: shell\.label: says nothing/u, /^7: http_fetch\.untrusted: says nothing/u],
    ],
  ];
  for (const [name, text, expected] of rows) {
    test(name, () => {
      const problems = problemsOf(text);
      assert.equal(problems.length, expected.length, problems.join("\n"));
      expected.forEach((pattern, index) => assert.match(problems[index] ?? "", pattern));
    });
  }
});
