/** What texts alone make a set of, what is still told of a file that can't be read whole, and how problems are listed. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sha256 } from "@boxmaker/proto";
import { setFromTexts } from "../../src/grants/assemble-set.ts";
import { parseGrantFile } from "../../src/grants/parse-grant-file.ts";
import { sortProblems } from "../../src/grants/sort-problems.ts";

function file(tool: string, extra: string, constraints: string, mode = "auto"): string {
  return `id = "a"\ntool = "${tool}"\nmode = "${mode}"\n${extra}[constraints]\n${constraints}\n`;
}

function problemsOf(text: string): readonly string[] {
  return parseGrantFile(text).problems.map(({ line, problem }) => `${line}: ${problem}`);
}

function setProblems(...texts: readonly string[]): readonly string[] {
  const set = setFromTexts(
    texts.map((text, index) => ({ file: `${index}.toml`, text })),
    [],
  );
  return set.kind === "valid" ? [] : set.problems.map(({ file: name, line, problem }) => `${name}:${line}: ${problem}`);
}

describe("a predicate can hold", () => {
  for (const [name, text] of [
    [
      "for a URL of any of several hosts",
      file("http_fetch", "", 'hosts = ["a.org", "*.example.com"]\nargs = { url = { in = ["https://b.example.com/x"] } }'),
    ],
    [
      "for the beginning of a URL of one of several hosts",
      file("http_fetch", "", 'hosts = ["a.org", "b.org"]\nargs = { url = { prefix = "https://b.org/x/" } }'),
    ],
    [
      "for a path that holds one of several granted ones",
      file("shell", "", 'paths = ["/home/x", "/srv/notes"]\nargs = { cwd = { prefix = "/srv" } }'),
    ],
    [
      "for one URL beside what is none",
      file("http_fetch", "", 'hosts = ["b.org"]\nargs = { url = { in = ["b.org", "https://b.org/"] } }'),
    ],
  ] as const) {
    test(name, () => assert.deepEqual(problemsOf(text), []));
  }
});

test("what a deny can't have is told beside an unknown key of the same file", () => {
  const limits = 'colour = "red"\nmax_taint = "public"\nexpires = 2027-01-01T00:00:00Z\nuses = 1\n';
  const problems = problemsOf(file("read_file", limits, 'paths = ["/srv"]', "deny"));
  assert.deepEqual(
    problems.map((problem) => problem.split(" ").slice(0, 2).join(" ")),
    ["4: unknown", "5: max_taint:", "6: expires:", "7: uses:"],
  );
});

describe("where a file doesn't say", () => {
  const missing = (key: string): RegExp => new RegExp(`^1: ${key}: missing, expected one of [^\n]+$`, "u");
  const example = '[[examples]]\ncall = { path = "/home" }\nmatch = true\n';
  for (const constraints of [
    'hosts = ["a.org"]',
    'paths = ["/srv"]\nhosts = ["a.org"]',
    'paths = ["/srv"]\nargs = { cwd = { in = ["/home"] } }',
    `paths = ["/srv"]\n${example}`,
  ]) {
    test(`which tool it is about, nothing is said of ${JSON.stringify(constraints)}`, () => {
      const text = file("shell", "", constraints).replace('tool = "shell"\n', "");
      assert.match(problemsOf(text).join("\n"), missing("tool"));
    });
  }

  test("whether it permits, nothing is said of its examples", () => {
    const text = file("read_file", "", `paths = ["/srv"]\n${example}`).replace('mode = "auto"\n', "");
    assert.match(problemsOf(text).join("\n"), missing("mode"));
  });
});

test("a path in a folder that several grants let a box write is one problem", () => {
  const at = (id: string, path: string): string => file("shell", "", `paths = ["${path}"]`).replace('"a"', `"${id}"`);
  assert.deepEqual(setProblems(at("a", "/srv/x"), at("b", "/srv/x"), at("c", "/srv/x/y")), [
    '2.toml:5: constraints.paths: "/srv/x/y" lies in "/srv/x", which 0.toml lets a box write and put links in',
  ]);
});

test("text that isn't TOML is one problem, of its own line", () => {
  const parsed = parseGrantFile('id = "a"\ntool = [');
  assert.equal(parsed.problems.length, 1);
  assert.deepEqual([parsed.whole, parsed.parts, parsed.lineOf(["id"])], [undefined, {}, 1]);
});

test("texts make a set of grants with their hashes, in the order in which they are given", () => {
  const [one, two] = [
    file("read_file", "", 'paths = ["/srv/a"]'),
    file("read_file", "", 'paths = ["/srv/b"]').replace('"a"', '"b"'),
  ];
  const set = setFromTexts(
    [
      { file: "b.toml", text: two },
      { file: "a.toml", text: one },
    ],
    [],
  );
  assert.ok(set.kind === "valid");
  assert.deepEqual(
    set.grants.map(({ grant, file: name, sha256: hash, text }) => [grant.id, name, hash, text]),
    [
      ["b", "b.toml", sha256(two), two],
      ["a", "a.toml", sha256(one), one],
    ],
  );
  assert.deepEqual(set.labels, []);
  assert.deepEqual(
    set.files.map((each) => each.file),
    ["b.toml", "a.toml"],
  );
});

test("an id that three files share is told at each of them, with the two others", () => {
  const text = (at: string): string => file("read_file", "", `paths = ["${at}"]`);
  assert.deepEqual(setProblems(text("/srv/a"), text("/srv/b"), text("/srv/c")), [
    '0.toml:1: id: "a" is also the id in 1.toml, 2.toml',
    '1.toml:1: id: "a" is also the id in 0.toml, 2.toml',
    '2.toml:1: id: "a" is also the id in 0.toml, 1.toml',
  ]);
});

test("the results of a shell that sees credentials need a label that says so, and of another tool don't", () => {
  const paths = 'paths = ["/home/me/.ssh"]';
  assert.match(setProblems(file("shell", "", paths)).join(), /^0\.toml:5: label: .*the results need label = "secret"$/u);
  assert.deepEqual(setProblems(file("shell", 'label = "secret"\n', paths)), []);
  assert.deepEqual(setProblems(file("read_file", "", paths)), []);
  assert.deepEqual(setProblems(file("shell", "", paths, "deny")), []);
  assert.deepEqual(setProblems(file("shell", 'label = "secret"\ncolour = 1\n', paths)), ['0.toml:5: unknown key "colour"']);
  assert.equal(setProblems(file("shell", 'mode = "no"\n', paths).replace('mode = "auto"\n', "")).length, 1);
});

test("problems are listed by file, then line, then text, each once", () => {
  const problem = (name: string, line: number, text: string) => ({ file: name, line, problem: text });
  const sorted = [problem("a", 2, "x"), problem("a", 10, "b"), problem("a", 10, "c"), problem("b", 1, "a")];
  const mixed = [3, 1, 0, 2, 1, 3].flatMap((index) => sorted.slice(index, index + 1));
  assert.deepEqual(sortProblems(mixed), sorted);
  assert.deepEqual(sortProblems([problem("a", 1, "a\nb")]), [problem("a", 1, "a\\u000ab")]);
});
