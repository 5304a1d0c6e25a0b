/** What `labels.toml` may say, line by line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setFromTexts } from "../../src/grants/assemble-set.ts";
import { parseLabelsFile } from "../../src/grants/parse-labels-file.ts";
import { decide } from "../../src/rules/decide.ts";
import { LABELS_FILE } from "../../src/rules/grant-set.ts";
import { BOX, NOW, read, state } from "../rules/support.ts";

test("parseLabelsFile() reads every tree, in its order", () => {
  const { labels, problems } = parseLabelsFile(`
[[trees]]
path = "/home/me/tax"
label = "secret"
[[trees]]
path = "/home/me/Downloads"
untrusted = true
[[trees]]
path = "/home/me/mail"
label = "private"
untrusted = true
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(labels, [
    { path: "/home/me/tax", label: { taint: "secret", untrusted: false } },
    { path: "/home/me/Downloads", label: { taint: "public", untrusted: true }, isClassUnsaid: true },
    { path: "/home/me/mail", label: { taint: "private", untrusted: true } },
  ]);
});

test("a tree that is only said to hold strangers' words takes no secret back, one whose class is said does", () => {
  const text = 'id = "read"\ntool = "read_file"\nmode = "auto"\n[constraints]\npaths = ["/home/me/.mozilla"]\n';
  const profile = { file: "read.toml", text };
  const labelBy = (said: string): unknown => {
    const trees = `[[trees]]\npath = "/home/me/.mozilla/firefox"\n${said}\n`;
    const set = setFromTexts([profile, { file: LABELS_FILE, text: trees }], []);
    return decide(read("/home/me/.mozilla/firefox/a"), set, state({}), NOW, BOX).record.label;
  };
  assert.deepEqual(labelBy("untrusted = true"), { taint: "secret", untrusted: true });
  assert.deepEqual(labelBy('untrusted = true\nlabel = "public"'), { taint: "private", untrusted: true });
});

test("parseLabelsFile() takes an empty file for no labels", () => {
  const { labels, problems } = parseLabelsFile("");
  assert.deepEqual([labels, problems], [[], []]);
});

describe("parseLabelsFile() refuses", () => {
  const rows: readonly (readonly [string, string, readonly RegExp[]])[] = [
    ["text that isn't TOML", "[[trees]\n", [/^2: not TOML: /u]],
    ["an unknown key", "colour = 1\n", [/^1: unknown key "colour"$/u]],
    ["an unknown key of a tree", '[[trees]]\npath = "/a"\nlabel = "secret"\nmode = "deny"\n', [/^4: unknown key "mode"$/u]],
    ["a tree without a path", '[[trees]]\nlabel = "secret"\n', [/^1: trees\.0\.path: /u]],
    ["a relative path", '[[trees]]\npath = "a"\nlabel = "secret"\n', [/^2: trees\.0\.path: expected an absolute path/u]],
    ["the path /", '[[trees]]\npath = "/"\nlabel = "secret"\n', [/^2: trees\.0\.path: expected an absolute path/u]],
    ["a tree of which nothing is said", '[[trees]]\npath = "/a"\n', [/^1: trees\.0: expected label or untrusted/u]],
    ["a class that doesn't exist", '[[trees]]\npath = "/a"\nlabel = "top"\n', [/^3: trees\.0\.label: /u]],
    [
      "a tree twice",
      '[[trees]]\npath = "/a"\nlabel = "secret"\n[[trees]]\npath = "/a"\nuntrusted = true\n',
      [/^5: trees\.1\.path: "\/a" is also in line 2$/u],
    ],
    ["one table in the list's place", '[trees]\npath = "/a"\n', [/^1: trees: /u]],
  ];
  for (const [name, text, expected] of rows) {
    test(name, () => {
      const { labels, problems } = parseLabelsFile(text);
      const lines = problems.map(({ line, problem }) => `${line}: ${problem}`);
      assert.equal(lines.length, expected.length, lines.join("\n"));
      expected.forEach((pattern, index) => assert.match(lines[index] ?? "", pattern));
      assert.deepEqual(labels, []);
    });
  }
});
