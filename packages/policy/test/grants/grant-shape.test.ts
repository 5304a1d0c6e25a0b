/** The shape of a grant at its edges: ids, times and hosts that are just right or just not, and what a grant gets that says nothing. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { completeGrant, GrantFile } from "../../src/rules/grant.ts";
import { LABELS_FILE, OTHERWISE_GRANT, TOOLS_FILE } from "../../src/rules/grant-set.ts";
import { reservedPlaceAt, whyUnmountable } from "../../src/rules/mountable-path.ts";

const LEAST = { id: "a", tool: "http_fetch", mode: "ask", constraints: { hosts: ["a.org"] } };
const NO_HOST = "expected a host name of lower-case letters, digits and hyphens, or '*.' and one; no address, port or trailing dot";

function messagesOf(change: Readonly<Record<string, unknown>>): readonly string[] {
  return GrantFile.safeParse({ ...LEAST, ...change }).error?.issues.map(({ message }) => message) ?? [];
}

describe("a grant's id", () => {
  for (const id of ["a", "z", "0", "9", "-", "a".repeat(64)]) {
    test(`may be ${JSON.stringify(id)}`, () => assert.deepEqual(messagesOf({ id }), []));
  }
  for (const id of ["", "a".repeat(65), "A", "a.b", ".a", "a.", "a\n", "é"]) {
    test(`can't be ${JSON.stringify(id)}`, () => assert.deepEqual(messagesOf({ id }), ["expected 1 to 64 of a-z, 0-9 and '-'"]));
  }
});

describe("a grant's end", () => {
  for (const time of [0, Date.UTC(2027, 0, 1), Date.UTC(9999, 11, 31, 23, 59, 59, 999)]) {
    test(`may be ${new Date(time).toISOString()}`, () => assert.deepEqual(messagesOf({ expires: new Date(time) }), []));
  }
  for (const time of [-1, Date.UTC(10_000, 0, 1)]) {
    test(`can't be ${new Date(time).toISOString()}`, () => {
      assert.deepEqual(messagesOf({ expires: new Date(time) }), ["expected a time within the years 1970 to 9999"]);
    });
  }
  test("can't be a text", () => assert.deepEqual(messagesOf({ expires: "soon" }), ["expected a time like 2027-01-01T00:00:00Z"]));
});

describe("a grant's uses", () => {
  test("may be one", () => assert.deepEqual(messagesOf({ uses: 1 }), []));
  test("can't be none", () => {
    assert.deepEqual(messagesOf({ uses: 0 }), ["expected 1 or more: with none left the grant could never permit anything"]);
  });
});

describe("a grant's lists", () => {
  test("hold one value at least", () => {
    assert.deepEqual(messagesOf({ origins: ["mcp"], approvers: ["gateway"] }), []);
    assert.deepEqual(messagesOf({ origins: [], approvers: [] }), ["expected at least one value", "expected at least one value"]);
  });

  test("hold no value twice", () => {
    assert.deepEqual(messagesOf({ origins: ["mcp", "gateway"] }), []);
    assert.deepEqual(messagesOf({ origins: ["mcp", "gateway", "mcp"] }), ["a value is given twice"]);
  });
});

test("a grant's ask may be answered by either of two, and by nobody else", () => {
  assert.deepEqual(messagesOf({ approvers: ["bxctl", "gateway"] }), []);
  assert.equal(messagesOf({ approvers: [""] }).length, 1);
});

describe("a grant's keys", () => {
  for (const [what, change] of Object.entries({
    "of its own": { colour: 1 },
    "of its constraints": { constraints: { hosts: ["a.org"], colour: 1 } },
    "of an example": { examples: [{ call: {}, match: true, colour: 1 }] },
  })) {
    test(`${what} are all known ones`, () => assert.deepEqual(messagesOf(change), ['Unrecognized key: "colour"']));
  }

  test("of an example are both needed", () => {
    assert.deepEqual(messagesOf({ examples: [{ call: { url: "x" }, match: false }] }), []);
    assert.equal(messagesOf({ examples: [{}] }).length, 2);
  });
});

describe("a host that is refused", () => {
  const hint = (host: string): string => `expected "${host}", which is how this name is spelled in a URL`;
  const rows: Readonly<Record<string, string>> = {
    "A.org": hint("a.org"),
    "*.A.org": hint("*.a.org"),
    "bücher.example": hint("xn--bcher-kva.example"),
    "*.bücher.example": hint("*.xn--bcher-kva.example"),
    "*.": NO_HOST,
    "*A.org": NO_HOST,
    "A.org.": NO_HOST,
    "A..org": NO_HOST,
    "a b.org": NO_HOST,
    // Each of these would be read as a host and something else, and the host alone isn't what is meant.
    "A.org:80": NO_HOST,
    "A.org/": NO_HOST,
    "A.org?q": NO_HOST,
    "A.org#f": NO_HOST,
    "me@A.org": NO_HOST,
    "A.org\\b": NO_HOST,
    "0x7f.1": NO_HOST,
  };
  for (const [host, expected] of Object.entries(rows)) {
    test(`${JSON.stringify(host)}: ${expected === NO_HOST ? "is no name" : expected}`, () => {
      assert.deepEqual(messagesOf({ constraints: { hosts: [host] } }), [expected]);
    });
  }
});

test("a grant that says nothing more has no limits, and everything that it says is taken over", () => {
  const least = completeGrant(GrantFile.parse(LEAST));
  assert.deepEqual(least, {
    id: "a",
    tool: "http_fetch",
    mode: "ask",
    maxTaint: "public",
    ifUntrusted: "ask",
    label: "public",
    untrusted: true,
    expires: null,
    uses: null,
    session: null,
    origins: null,
    approvers: ["bxctl"],
    hostExec: false,
    paths: [],
    hosts: ["a.org"],
    args: new Map(),
  });
  assert.ok(Object.isFrozen(least));
  const most = {
    id: "b",
    tool: "shell",
    mode: "auto",
    max_taint: "public",
    if_untrusted: "deny",
    label: "secret",
    untrusted: true,
    expires: new Date(7),
    uses: 3,
    session: "chat",
    origins: ["mcp"],
    approvers: ["gateway"],
    host_exec: true,
    constraints: { paths: ["/srv"], args: { command: { prefix: "ls" } } },
  };
  assert.deepEqual(completeGrant(GrantFile.parse(most)), {
    id: "b",
    tool: "shell",
    mode: "auto",
    maxTaint: "public",
    ifUntrusted: "deny",
    label: "secret",
    untrusted: true,
    expires: 7,
    uses: 3,
    session: "chat",
    origins: ["mcp"],
    approvers: ["gateway"],
    hostExec: true,
    paths: ["/srv"],
    hosts: [],
    args: new Map([["command", { prefix: "ls" }]]),
  });
});

test("files beside the directory, and what tools.toml permits, have names that no grant has", () => {
  assert.deepEqual([TOOLS_FILE, LABELS_FILE, OTHERWISE_GRANT], ["etc/tools.toml", "etc/labels.toml", "tools.toml"]);
});

describe("a path", () => {
  for (const [path, expected] of [
    ["/srv/a:b", `"/srv/a:b" can't be mounted: it contains ':' or ','`],
    ["/srv/a,b", `"/srv/a,b" can't be mounted: it contains ':' or ','`],
    ["/usr/share", `"/usr/share" can't be mounted: a box has its own "/usr"`],
    ["/tmp", `"/tmp" can't be mounted: a box has its own "/tmp"`],
    ["/srv/a", undefined],
  ] as const) {
    test(`${path} ${expected === undefined ? "can be mounted" : "can't be mounted, and why"}`, () => {
      assert.equal(whyUnmountable(AbsPath.parse(path)), expected);
    });
  }

  test("meets the first of the box's own places that it is, holds or lies in", () => {
    const [run, etc] = ["/box/run", "/box/etc"].map((path) => AbsPath.parse(path));
    assert.ok(run !== undefined && etc !== undefined);
    const placeAt = (path: string): AbsPath | undefined => reservedPlaceAt(AbsPath.parse(path), [run, etc]);
    assert.deepEqual(["/box/etc", "/box/etc/a", "/box", "/box/other"].map(placeAt), [etc, etc, run, undefined]);
  });
});
