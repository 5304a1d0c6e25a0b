/** What one grant file may say, line by line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseGrantFile } from "../../src/grants/parse-grant-file.ts";
import { completeGrant } from "../../src/rules/grant.ts";

/** `line: problem` of each problem. */
function problemsOf(text: string): readonly string[] {
  return parseGrantFile(text).problems.map(({ line, problem }) => `${line}: ${problem}`);
}

const HEAD = 'id = "a"\ntool = "read_file"\nmode = "auto"\n';
const PATHS = '[constraints]\npaths = ["/srv/notes"]\n';

/** A whole file of a tool, with `extra` before its constraints and `more` after them. */
function file(tool: string, extra = "", more = "", mode = "auto"): string {
  const place = tool === "http_fetch" ? 'hosts = ["example.com"]' : 'paths = ["/srv/notes"]';
  return `id = "a"\ntool = "${tool}"\nmode = "${mode}"\n${extra}[constraints]\n${place}\n${more}`;
}

test("parseGrantFile() reads every key", () => {
  const parsed = parseGrantFile(`
id = "notes-1"
tool = "shell"
mode = "ask"
max_taint = "secret"
if_untrusted = "deny"
label = "secret"
untrusted = true
expires = 2027-01-01T00:00:00Z
uses = 3
session = "chat-1"
origins = ["terminal", "mcp"]
approvers = ["gateway"]
host_exec = true
[constraints]
paths = ["/srv/b", "/srv/a"]
[constraints.args]
"cwd" = { in = ["/srv/a"] }
command = { prefix = "git ", maxlen = 100 }
[[examples]]
call = { command = "git status", cwd = "/srv/a" }
match = true
[[examples]]
call = { command = "ls", cwd = "/srv/a" }
match = false
`);
  assert.deepEqual(parsed.problems, []);
  assert.ok(parsed.whole !== undefined);
  assert.deepEqual(completeGrant(parsed.whole), {
    id: "notes-1",
    tool: "shell",
    mode: "ask",
    maxTaint: "secret",
    ifUntrusted: "deny",
    label: "secret",
    untrusted: true,
    expires: Date.UTC(2027, 0, 1),
    uses: 3,
    session: "chat-1",
    origins: ["terminal", "mcp"],
    approvers: ["gateway"],
    hostExec: true,
    paths: ["/srv/b", "/srv/a"],
    hosts: [],
    args: new Map<string, unknown>([
      ["cwd", { in: ["/srv/a"] }],
      ["command", { prefix: "git ", maxlen: 100 }],
    ]),
  });
});

describe("completeGrant() fills in the defaults of", () => {
  const defaults = {
    read_file: ["secret", "auto", "private", false],
    write_file: ["private", "ask", "private", false],
    shell: ["private", "ask", "private", false],
    http_fetch: ["public", "ask", "public", true],
  } as const;
  for (const [tool, expected] of Object.entries(defaults)) {
    test(tool, () => {
      const { whole } = parseGrantFile(file(tool));
      assert.ok(whole !== undefined);
      const grant = completeGrant(whole);
      assert.deepEqual([grant.maxTaint, grant.ifUntrusted, grant.label, grant.untrusted], expected);
      assert.deepEqual([grant.expires, grant.uses, grant.session, grant.origins], [null, null, null, null]);
      assert.deepEqual(grant.approvers, ["bxctl"]);
      assert.equal(grant.hostExec, false);
    });
  }
});

type Row = readonly [name: string, text: string, problems: readonly (string | RegExp)[]];

const INVALID: readonly Row[] = [
  [
    "an empty file",
    "",
    [
      "1: id: missing, expected a text in quotes",
      /^1: tool: missing, expected one of/u,
      /^1: mode: missing, expected one of/u,
      "1: constraints: missing, expected a table",
    ],
  ],
  ["a text for a number", file("read_file", 'uses = "1"\n'), ['4: uses: expected a number, got "1"']],
  ["a number for a text", file("read_file", "label = 1\n"), [/^4: label: expected one of .*, got 1$/u]],
  ["a text for a list", file("read_file", 'origins = "mcp"\n'), ['4: origins: expected a list, got "mcp"']],
  ["a text for true", file("read_file", 'untrusted = "yes"\n'), ['4: untrusted: expected true or false, got "yes"']],
  ["a list for a table", `constraints = []\n${HEAD}`, ["1: constraints: expected a table, got a list"]],
  [
    "a time before 1970",
    file("read_file", "expires = 1969-12-31T00:00:00Z\n"),
    [/^4: expires: .*, got 1969-12-31T00:00:00\.000Z$/u],
  ],
  [
    "a value with control characters, shown escaped",
    file("read_file", 'label = "\\u001b[2J\\u202e"\n'),
    [/^4: label: expected one of .*, got "\\u001b\[2J\\u202e"$/u],
  ],
  ["a long value, shown in part", file("read_file", `label = "${"a".repeat(5000)}"\n`), [/^4: label: .*, got "a{100}…"$/u]],
  ["text that isn't TOML", `${HEAD}paths = [`, [/^4: not TOML: /u]],
  ["a key given twice", `id = "b"\n${HEAD}${PATHS}`, [/^2: not TOML: /u]],
  ["an unknown key", `${HEAD}colour = "red"\n${PATHS}`, ['4: unknown key "colour"']],
  ["an unknown key of the constraints", `${HEAD}${PATHS}urls = []\n`, ['6: unknown key "urls"']],
  ["an id with a capital", `id = "A"\ntool = "read_file"\nmode = "auto"\n${PATHS}`, [/^1: id: expected 1 to 64/u]],
  [
    "an id of 65 characters",
    `id = "${"a".repeat(65)}"\ntool = "read_file"\nmode = "auto"\n${PATHS}`,
    [/^1: id: expected 1 to 64/u],
  ],
  [
    "an unknown tool",
    `id = "a"\ntool = "rm"\nmode = "auto"\n${PATHS}`,
    ['2: tool: expected one of "read_file", "write_file", "shell", "http_fetch", got "rm"'],
  ],
  [
    "an unknown mode",
    `id = "a"\ntool = "read_file"\nmode = "allow"\n${PATHS}`,
    ['3: mode: expected one of "auto", "ask", "deny", got "allow"'],
  ],
  [
    "a taint that doesn't exist",
    file("read_file", 'max_taint = "top"\n'),
    ['4: max_taint: expected one of "public", "private", "secret", got "top"'],
  ],
  ["a date without an offset", file("read_file", "expires = 2027-01-01T00:00:00\n"), [/^4: a time without an offset/u]],
  ["an expiry in quotes", file("read_file", 'expires = "2027-01-01T00:00:00Z"\n'), [/^4: expires: expected a time like/u]],
  ["no uses", file("read_file", "uses = 0\n"), [/^4: uses: expected 1 or more/u]],
  ["a fraction of uses", file("read_file", "uses = 1.5\n"), [/^4: a number with a fraction/u]],
  ["a session that can't be", file("read_file", 'session = "Chat"\n'), [/^4: session: /u]],
  ["no origins", file("read_file", "origins = []\n"), ["4: origins: expected at least one value"]],
  [
    "an unknown origin",
    file("read_file", 'origins = ["web"]\n'),
    ['4: origins.0: expected one of "terminal", "gateway", "mcp", got "web"'],
  ],
  ["an origin twice", file("read_file", 'origins = ["mcp", "mcp"]\n'), ["4: origins: a value is given twice"]],
  ["no approvers", file("read_file", "approvers = []\n"), ["4: approvers: expected at least one value"]],
  ["no constraints", HEAD, [/^1: constraints: /u]],
  ["no paths for a file tool", `${HEAD}[constraints]\nargs = {}\n`, ["4: constraints.paths: missing: read_file needs it"]],
  ["empty paths", `${HEAD}[constraints]\npaths = []\n`, ["5: constraints.paths: expected at least one value"]],
  ["hosts for a file tool", `${HEAD}${PATHS}hosts = ["a.org"]\n`, [/^6: constraints\.hosts: read_file has no such constraint/u]],
  [
    "paths for http_fetch",
    'id = "a"\ntool = "http_fetch"\nmode = "auto"\n[constraints]\npaths = ["/srv"]\n',
    [/^4: constraints\.hosts: missing/u, /^5: constraints\.paths: http_fetch has no such/u],
  ],
  ["the path /", `${HEAD}[constraints]\npaths = ["/"]\n`, [/^5: constraints\.paths\.0: expected an absolute path/u]],
  [
    "a relative path",
    `${HEAD}[constraints]\npaths = [\n  "/srv/a",\n  "notes",\n]\n`,
    [/^7: constraints\.paths\.1: expected an absolute path/u],
  ],
  ["a path with ..", `${HEAD}[constraints]\npaths = ["/srv/../etc"]\n`, [/^5: constraints\.paths\.0: /u]],
  ["a path twice", `${HEAD}[constraints]\npaths = ["/srv", "/srv"]\n`, ["5: constraints.paths: a value is given twice"]],
  [
    "a path with :",
    `${HEAD}[constraints]\npaths = ["/srv/a:b"]\n`,
    [/^5: constraints\.paths: "\/srv\/a:b" can't be mounted: it contains ':' or ','$/u],
  ],
  ["a path with ,", `${HEAD}[constraints]\npaths = ["/srv/a,b"]\n`, [/^5: .*it contains ':' or ','$/u]],
  [
    "a deny of several tools' limits",
    file("read_file", 'max_taint = "public"\nexpires = 2027-01-01T00:00:00Z\nuses = 1\n', "", "deny"),
    [/^4: max_taint: a deny holds always/u, /^5: expires: a deny holds always/u, /^6: uses: a deny holds always/u],
  ],
  [
    "a predicate about an argument that isn't there",
    file("shell", "", 'args = { path = { in = ["/srv/notes"] } }\n'),
    [/^6: constraints\.args\.path: shell has no argument of this name, expected one of command, cwd$/u],
  ],
  [
    "an empty predicate",
    file("shell", "", "args = { cwd = {} }\n"),
    [/^6: constraints\.args\.cwd: expected one of in, prefix, max/u],
  ],
  [
    "a predicate with a regular expression",
    file("shell", "", 'args = { cwd = { regex = "a" } }\n'),
    ['6: unknown key "regex"', /^6: .*expected one of in, prefix, max/u],
  ],
  ["an empty in", file("shell", "", "args = { cwd = { in = [] } }\n"), [/^6: .*expected at least one value/u]],
  ["a number's limit on a text", file("shell", "", "args = { command = { max = 5 } }\n"), [/^6: .*max never holds/u]],
  [
    "the absence of what is needed",
    file("shell", "", "args = { command = { absent = true } }\n"),
    [/^6: .*absent = true never holds/u],
  ],
  [
    "absent beside a value",
    file("shell", "", 'args = { cwd = { absent = true, in = ["/srv/notes"] } }\n'),
    [/^6: .*absent = true excludes/u],
  ],
  ["in of what is no path", file("shell", "", 'args = { cwd = { in = ["notes"] } }\n'), [/^6: .*in never holds/u]],
  ["a prefix that is no path", file("shell", "", 'args = { cwd = { prefix = "/srv/" } }\n'), [/^6: .*prefix never holds/u]],
  [
    "in outside of the paths",
    file("shell", "", 'args = { cwd = { in = ["/home/x"] } }\n'),
    [/^6: .*never holds for what the other/u],
  ],
  [
    "a prefix outside of the paths",
    file("shell", "", 'args = { cwd = { prefix = "/home/x" } }\n'),
    [/^6: .*never holds for what the other/u],
  ],
  [
    "the very path of a write grant",
    file("write_file", "", 'args = { path = { in = ["/srv/notes"] } }\n'),
    [/^6: .*never holds for what the other/u],
  ],
  ["a maxlen that nothing fits", file("read_file", "", "args = { path = { maxlen = 1 } }\n"), [/^6: .*maxlen never holds/u]],
  [
    "a maxlen below the prefix",
    file("shell", "", 'args = { command = { prefix = "abc", maxlen = 2 } }\n'),
    [/^6: .*maxlen never holds beside/u],
  ],
  [
    "a URL prefix that could continue the host",
    file("http_fetch", "", 'args = { url = { prefix = "https://example.com" } }\n'),
    [/^6: .*prefix never holds: expected the beginning of a URL up to/u],
  ],
  [
    "a URL of another host",
    file("http_fetch", "", 'args = { url = { in = ["https://example.org/"] } }\n'),
    [/^6: .*never holds for what/u],
  ],
  [
    "an example that should match",
    file("read_file", "", '[[examples]]\ncall = { path = "/srv/other" }\nmatch = true\n'),
    [/^6: examples: the grant doesn't match this call/u],
  ],
  [
    "an example that shouldn't",
    file("read_file", "", '[[examples]]\ncall = { path = "/srv/notes/a" }\nmatch = false\n'),
    [/^6: examples: the grant matches this call/u],
  ],
  [
    "an example that is no call",
    file("read_file", "", '[[examples]]\ncall = { paht = "/srv/notes/a" }\nmatch = false\n'),
    [/^6: examples: no call of read_file looks like this/u],
  ],
  [
    "an example without its expectation",
    file("read_file", "", '[[examples]]\ncall = { path = "/srv/notes/a" }\n'),
    [/^6: examples\.0\.match: /u],
  ],
];

describe("parseGrantFile() refuses", () => {
  for (const [name, text, expected] of INVALID) {
    test(name, () => {
      const problems = problemsOf(text);
      assert.equal(problems.length, expected.length, problems.join("\n"));
      expected.forEach((pattern, index) => {
        const problem = problems[index] ?? "";
        if (typeof pattern === "string") assert.equal(problem, pattern);
        else assert.match(problem, pattern);
      });
      assert.equal(parseGrantFile(text).whole, undefined);
    });
  }

  for (const own of [
    "/bin",
    "/tmp",
    "/proc",
    "/run/user/1000",
    "/etc/ssl",
    "/usr/local",
    "/dev/shm",
    "/sys",
    "/lib64",
    "/opt/boxmaker",
    "/opt",
  ]) {
    test(`the path ${own}, which a box has of its own`, () => {
      assert.match(
        problemsOf(`${HEAD}[constraints]\npaths = ["${own}"]\n`).join("\n"),
        /^5: constraints\.paths: .*a box has its own "/u,
      );
    });
  }

  const hosts = {
    "127.0.0.1": /expected a host name/u,
    "[::1]": /expected a host name/u,
    "example.com:443": /expected a host name/u,
    "user@example.com": /expected a host name/u,
    "example.com.": /expected a host name/u,
    "*": /expected a host name/u,
    "a.*.org": /expected a host name/u,
    "*.*.org": /expected a host name/u,
    "": /expected a host name/u,
    "Example.com": /expected "example\.com", which is how/u,
    "bücher.example": /expected "xn--bcher-kva\.example"/u,
    "*.bücher.example": /expected "\*\.xn--bcher-kva\.example"/u,
  };
  for (const [host, expected] of Object.entries(hosts)) {
    test(`the host ${JSON.stringify(host)}`, () => {
      const text = `id = "a"\ntool = "http_fetch"\nmode = "auto"\n[constraints]\nhosts = ["${host}"]\n`;
      assert.match(problemsOf(text).join("\n"), expected);
      assert.equal(problemsOf(text).length, 1);
    });
  }
});

describe("parseGrantFile() accepts", () => {
  const good = {
    "a deny with what restricts nothing": file("read_file", 'label = "secret"\norigins = ["mcp"]\n', "", "deny"),
    "an ask that expires": file("shell", "expires = 2027-01-01T00:00:00+02:00\n", "", "ask"),
    "a prefix above the paths": file("shell", "", 'args = { cwd = { prefix = "/srv" } }\n'),
    "a prefix below the paths": file("write_file", "", 'args = { path = { prefix = "/srv/notes/a" } }\n'),
    "a write into exactly the granted folder by prefix": file("write_file", "", 'args = { path = { prefix = "/srv/notes" } }\n'),
    "a deny of writing the very path": file("write_file", "", 'args = { path = { in = ["/srv/notes"] } }\n', "deny"),
    "in where one value of several can be": file("shell", "", 'args = { cwd = { in = ["x", "/srv/notes"] } }\n'),
    "paths that only begin like the box's own": `${HEAD}[constraints]\npaths = ["/tmpfiles", "/optional", "/srv/etc", "/tmp/notes", "/library"]\n`,
  };
  for (const [name, text] of Object.entries(good)) test(name, () => assert.deepEqual(problemsOf(text), []));
});

test("parseGrantFile() tells all problems at once, those of keys beside those between keys", () => {
  const text = `id = "A B"
tool = "read_file"
mode = "deny"
uses = 2
colour = 1
[constraints]
paths = ["/srv/a:b", "/tmp"]
[[examples]]
call = { path = "/home" }
match = true
`;
  const lines = problemsOf(text).map((problem) => Number(problem.split(":")[0]));
  assert.deepEqual(
    lines.sort((a, b) => a - b),
    [1, 4, 5, 7, 7, 8],
  );
});
