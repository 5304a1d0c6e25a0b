/** Which calls a grant's constraints fit. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CallRequest } from "../../src/rules/decide.ts";
import { ask, fetchOf, type GrantFields, grant, outcome, read, request, shell, write } from "./support.ts";

function matches(call: CallRequest, fields: GrantFields): boolean {
  return outcome(ask(call, [grant(fields)])) !== "no_grant";
}

type Row = readonly [call: CallRequest, fits: boolean];

function table(name: string, fields: GrantFields, rows: readonly Row[]): void {
  describe(name, () => {
    for (const [call, fits] of rows) {
      test(`${fits ? "fits" : "doesn't fit"} ${call.argumentsText}`, () => assert.equal(matches(call, fields), fits));
    }
  });
}

table("a read_file grant of /srv/notes", {}, [
  [read("/srv/notes"), true],
  [read("/srv/notes/a"), true],
  [read("/srv/notes/a/b"), true],
  [read("/srv/notes2"), false],
  [read("/srv/note"), false],
  [read("/srv"), false],
  [write("/srv/notes/a"), false],
]);

table("a write_file grant of /srv/notes", { tool: "write_file" }, [
  [write("/srv/notes"), false],
  [write("/srv/notes/a"), true],
  [write("/srv/notes/a/b"), true],
  [write("/srv/notes2/a"), false],
]);

table("an ask of write_file, which permits as well", { tool: "write_file", mode: "ask" }, [[write("/srv/notes"), false]]);

table("a deny of write_file, which holds for the very path too", { tool: "write_file", mode: "deny" }, [
  [write("/srv/notes"), true],
  [write("/srv/notes/a"), true],
  [write("/srv/notes2"), false],
]);

table("a shell grant of two paths", { tool: "shell", paths: ["/srv/a", "/srv/b"] }, [
  [shell(), true],
  [shell("/srv/a"), true],
  [shell("/srv/b/c"), true],
  [shell("/srv"), false],
  [shell("/srv/ab"), false],
]);

table("an http_fetch grant", { tool: "http_fetch", hosts: ["example.com", "*.example.org"] }, [
  [fetchOf("https://example.com/x?y"), true],
  [fetchOf("http://example.com:80/"), true],
  [fetchOf("https://a.example.com/"), false],
  [fetchOf("https://a.example.org/"), true],
  [fetchOf("https://a.b.example.org/"), false],
  [fetchOf("https://example.org/"), false],
  [fetchOf("https://badexample.com/"), false],
]);

table("a grant with args.cwd in", { tool: "shell", paths: ["/srv"], args: { cwd: { in: ["/srv/a", "/srv/b"] } } }, [
  [shell("/srv/a"), true],
  [shell("/srv/a/b"), false],
  [shell(), false],
]);

table("a grant with args.cwd absent", { tool: "shell", paths: ["/srv"], args: { cwd: { absent: true } } }, [
  [shell("/srv/a"), false],
  [shell(), true],
]);

table("a grant with args.cwd not absent", { tool: "shell", paths: ["/srv"], args: { cwd: { absent: false } } }, [
  [shell("/srv/a"), true],
  [shell(), false],
]);

table("a grant with args.path prefix, by component", { args: { path: { prefix: "/srv/notes/a" } } }, [
  [read("/srv/notes/a"), true],
  [read("/srv/notes/a/b"), true],
  [read("/srv/notes/ab"), false],
]);

table("a grant with args.command prefix and maxlen", { tool: "shell", args: { command: { prefix: "git ", maxlen: 10 } } }, [
  [request("shell", { command: "git status" }), true],
  [request("shell", { command: "git statusx" }), false],
  [request("shell", { command: "ls" }), false],
  [request("shell", { command: "git ééé" }), true],
  [request("shell", { command: "git éééé" }), false],
]);

table("a grant with two predicates", { tool: "write_file", args: { path: { in: ["/srv/notes/a"] }, content: { maxlen: 1 } } }, [
  [write("/srv/notes/a"), true],
  [write("/srv/notes/b"), false],
  [request("write_file", { path: "/srv/notes/a", content: "xy" }), false],
]);

table(
  "a grant with args.url prefix, by what is fetched",
  { tool: "http_fetch", args: { url: { prefix: "https://example.com/public/" } } },
  [
    [fetchOf("https://example.com/public/a"), true],
    [fetchOf("https://example.com:443/public/a"), true],
    [fetchOf("https://example.com/public"), false],
    [fetchOf("https://example.com/public/../private"), false],
    [fetchOf("https://example.com/public/%2e%2e/private"), false],
    [fetchOf("https://example.com/private/../public/a"), true],
    [fetchOf("http://example.com/public/a"), false],
  ],
);

table("a grant with args.url in", { tool: "http_fetch", args: { url: { in: ["https://example.com/a"] } } }, [
  [fetchOf("https://example.com/a"), true],
  [fetchOf("https://example.com:443/a"), true],
  [fetchOf("https://example.com/x/../a"), true],
  [fetchOf("https://example.com/a?"), false],
]);

test("max fits no argument, since none is a number", () => {
  assert.equal(matches(read("/srv/notes/a"), { args: { path: { max: 5 } } }), false);
});

test("a predicate about an argument that the tool doesn't have fits nothing", () => {
  assert.equal(matches(read("/srv/notes/a"), { args: { url: { absent: true } } }), false);
});
