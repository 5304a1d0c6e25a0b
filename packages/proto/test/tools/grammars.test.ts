/** The grammars of hosts, URLs and paths, row by row and against what other parsers make of the same text. */
import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { AbsPath, FetchUrl, Host, HostPattern, holdsPath, hostOfUrl, isProperParent, matchesHost } from "../../src/index.ts";
import { loadCases } from "../support/fixtures.ts";

const GRAMMARS = { "hosts.tsv": Host, "urls.tsv": FetchUrl, "paths.tsv": AbsPath } as const;

for (const [table, schema] of Object.entries(GRAMMARS)) {
  test(`fixtures/${table}: every row is judged as it says`, () => {
    const cases = loadCases(table);
    assert.ok(cases.length > 40);
    for (const { input, columns } of cases) {
      const [verdict, why = ""] = columns;
      assert.equal(
        schema.safeParse(input).success ? "valid" : "invalid",
        verdict,
        `${why}: ${JSON.stringify(input).slice(0, 200)}`,
      );
    }
  });
}

const labelText = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,5}[a-z0-9])?$/);
const hostText = fc
  .tuple(fc.array(labelText, { maxLength: 3 }), fc.stringMatching(/^[a-z](?:[a-z0-9-]{0,5}[a-z0-9])?$/))
  .map(([labels, last]) => [...labels, last].join("."));

test("FetchUrl accepts only what the WHATWG parser reads as the same host, port and nothing else in front of the path", () => {
  const text = fc.oneof(
    fc.tuple(
      fc.constantFrom("http://", "https://", "https:/", "HTTPS://", "//"),
      hostText,
      fc.constantFrom("", ":80", ":443", ":", "@a", "\\", "#", "?", "."),
      fc.webPath(),
    ),
    fc.tuple(
      fc.constantFrom("http://", "https://"),
      fc.string({ unit: fc.constantFrom(...Array.from("a1.-:@/\\?#%[]*_ \t\u00e9\u3002")) }),
      fc.constantFrom("", "/"),
      fc.webPath(),
    ),
  );
  fc.assert(
    fc.property(text, (parts) => {
      const url = FetchUrl.safeParse(parts.join(""));
      if (!url.success) return;
      const parsed = new URL(url.data);
      assert.equal(parsed.hostname, hostOfUrl(url.data));
      assert.ok(Host.safeParse(parsed.hostname).success);
      assert.deepEqual([parsed.port, parsed.username, parsed.password, parsed.hash], ["", "", "", ""]);
      assert.ok(url.data.startsWith(`${parsed.protocol}//${parsed.hostname}`));
    }),
    { numRuns: 3000 },
  );
});

test("FetchUrl refuses a host that the WHATWG parser reads as another, and one that it can't read", () => {
  for (const host of ["xn--a.example", "xn--.example", "xn--example-9d0b.com", "xn--bcher-kva.example"]) {
    const text = `https://${host}/`;
    const isSame = Host.safeParse(host).success && URL.canParse(text) && new URL(text).hostname === host;
    assert.equal(FetchUrl.safeParse(text).success, isSame, host);
  }
});

test("AbsPath accepts only what normalising leaves as it is", () => {
  const component = fc.constantFrom("a", "notes", "..", ".", "", "..x", "...", "a b", "\u00fc", "\u0000", "\n", "~", "*");
  fc.assert(
    fc.property(fc.constantFrom("/", "", "//"), fc.array(component, { maxLength: 6 }), (start, components) => {
      const text = start + components.join("/");
      const isNormal = posix.normalize(text) === text && text.startsWith("/") && text !== "/" && !text.endsWith("/");
      assert.equal(AbsPath.safeParse(text).success, isNormal && !/\p{Cc}/u.test(text), JSON.stringify(text));
    }),
    { numRuns: 1000 },
  );
});

test("holdsPath() goes by component", () => {
  const path = (text: string): AbsPath => AbsPath.parse(text);
  const cases: readonly (readonly [parent: string, child: string, holds: boolean, isProper: boolean])[] = [
    ["/srv/notes", "/srv/notes", true, false],
    ["/srv/notes", "/srv/notes/a", true, true],
    ["/srv/notes", "/srv/notes/..x", true, true],
    ["/srv/notes", "/srv/notes2", false, false],
    ["/srv/notes", "/srv/note", false, false],
    ["/srv/notes/a", "/srv/notes", false, false],
    ["/srv/notes", "/srv/Notes/a", false, false],
  ];
  for (const [parent, child, holds, isProper] of cases) {
    assert.equal(holdsPath(path(parent), path(child)), holds, `${parent} ${child}`);
    assert.equal(isProperParent(path(parent), path(child)), isProper, `${parent} ${child}`);
  }
});

test("holdsPath() agrees with comparing the components", () => {
  const path = fc
    .array(fc.constantFrom("a", "ab", "b"), { minLength: 1, maxLength: 4 })
    .map((parts) => AbsPath.parse(`/${parts.join("/")}`));
  fc.assert(
    fc.property(path, path, (parent, child) => {
      const [outer, inner] = [parent.split("/"), child.split("/")];
      assert.equal(
        holdsPath(parent, child),
        outer.every((component, index) => inner[index] === component),
      );
      assert.equal(isProperParent(parent, child), holdsPath(parent, child) && inner.length > outer.length);
    }),
  );
});

test("HostPattern is a host, or one star and a host", () => {
  for (const text of ["example.com", "*.example.com", "*.a"]) assert.ok(HostPattern.safeParse(text).success, text);
  for (const text of [
    "*",
    "*.",
    "**.example.com",
    "*.*.example.com",
    "a.*.example.com",
    "*example.com",
    "www*.example.com",
    "*.1.2.3.4",
    "*.EXAMPLE.com",
    "*.example.com.",
    "",
  ]) {
    assert.ok(!HostPattern.safeParse(text).success, text);
  }
});

test("matchesHost(): a star stands for exactly one label, never for none and never for a part", () => {
  const matches = (pattern: string, host: string): boolean => matchesHost(HostPattern.parse(pattern), Host.parse(host));
  for (const [pattern, host, expected] of [
    ["example.com", "example.com", true],
    ["example.com", "www.example.com", false],
    ["example.com", "example.co", false],
    ["example.co", "example.com", false],
    ["*.example.com", "a.example.com", true],
    ["*.example.com", "xn--bcher-kva.example.com", true],
    ["*.example.com", "example.com", false],
    ["*.example.com", "a.b.example.com", false],
    ["*.example.com", "aexample.com", false],
    ["*.example.com", "a.example.com.evil.test", false],
    ["*.com", "example.com", true],
    ["*.com", "com", false],
  ] as const) {
    assert.equal(matches(pattern, host), expected, `${pattern} ${host}`);
  }
});

test("matchesHost() agrees with comparing the labels", () => {
  const few = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(
    fc.property(few, few, fc.boolean(), (of, host, wild) => {
      const [front, ...rest] = host.split(".");
      const expected = wild ? front !== undefined && rest.length > 0 && rest.join(".") === of : host === of;
      assert.equal(matchesHost(HostPattern.parse(wild ? `*.${of}` : of), Host.parse(host)), expected);
    }),
  );
});
