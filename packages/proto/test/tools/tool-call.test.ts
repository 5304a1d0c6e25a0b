/** Calls as a model writes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson, MAX_ARGUMENTS, parseToolCall, RequestedTool, ToolCall, type ToolName } from "../../src/index.ts";

const ACCEPTED: readonly (readonly [tool: ToolName, text: string])[] = [
  ["read_file", '{"path":"/home/me/notes/todo.md"}'],
  ["read_file", ' { "path" : "\\/home\\/me" } '],
  ["write_file", '{"path":"/a","content":""}'],
  ["write_file", '{"content":"line\\nline\\u0000","path":"/a"}'],
  ["shell", '{"command":"ls"}'],
  ["shell", '{"command":"ls\\n-la","cwd":"/srv"}'],
  ["http_fetch", '{"url":"https://example.com/"}'],
];

const REFUSED: readonly (readonly [tool: ToolName, text: string, problem: string])[] = [
  ["read_file", "", "not JSON"],
  ["read_file", "null", "arguments: Invalid input: expected object, received null"],
  ["read_file", "[]", "arguments: Invalid input: expected object, received array"],
  ["read_file", '"/a"', "arguments: Invalid input: expected object, received string"],
  ["read_file", '{"path":"/a"}{"path":"/b"}', "not JSON"],
  ["read_file", '{"path":"/a","path":"/b"}', 'a duplicate key "path" at offset 13'],
  ["read_file", '{"path":"/a","p\\u0061th":"/b"}', 'a duplicate key "path" at offset 13'],
  ["read_file", '{"path":"/a","tool":"shell"}', 'arguments: Unrecognized key: "tool"'],
  ["read_file", '{"path":"/a","__proto__":{"tool":"shell"}}', 'arguments: Unrecognized key: "__proto__"'],
  ["read_file", '{"Path":"/a"}', "arguments.path: Invalid input: expected string, received undefined"],
  ["read_file", '{"path":null}', "arguments.path: Invalid input: expected string, received null"],
  ["read_file", '{"path":["/a"]}', "arguments.path: Invalid input: expected string, received array"],
  ["read_file", '{"path":"/a\\ud800"}', "a lone surrogate at offset 8"],
  ["write_file", '{"path":"/a"}', "arguments.content: Invalid input: expected string, received undefined"],
  ["shell", '{"command":""}', "arguments.command: expected a command without NUL"],
  ["shell", '{"command":"a\\u0000b"}', "arguments.command: expected a command without NUL"],
  ["shell", '{"command":"ls","cwd":null}', "arguments.cwd: Invalid input: expected string, received null"],
  ["http_fetch", '{"url":"https://example.com/","timeout":1.5}', "a number that is no integer in 0..2^53-1 at offset 40"],
];

test("parseToolCall() gives typed arguments, whatever the spelling", () => {
  for (const [tool, text] of ACCEPTED) {
    const parsed = parseToolCall(tool, text);
    assert.ok(parsed.kind === "ok", text);
    assert.equal(parsed.value.tool, tool);
    assert.deepEqual(parsed.value.arguments, JSON.parse(text));
    assert.ok(Object.isFrozen(parsed.value) && Object.isFrozen(parsed.value.arguments));
  }
});

test("parseToolCall() refuses everything else in one line", () => {
  for (const [tool, text, problem] of REFUSED) {
    const parsed = parseToolCall(tool, text);
    assert.equal(parsed.kind === "invalid" ? parsed.problem : "accepted", problem, `${tool} ${text}`);
  }
});

test("parseToolCall() takes canonical arguments of 1 MiB and not of one byte more, counted in bytes", () => {
  const overhead = canonicalJson({ path: "/a", content: "" }).length;
  const kindOf = (content: string): string => parseToolCall("write_file", JSON.stringify({ content, path: "/a" })).kind;
  assert.equal(kindOf("x".repeat(MAX_ARGUMENTS - overhead)), "ok");
  assert.equal(kindOf("x".repeat(MAX_ARGUMENTS - overhead + 1)), "invalid");
  assert.equal(kindOf("é".repeat(MAX_ARGUMENTS / 2)), "invalid");
  // What counts is the canonical text: escapes that a model needn't have written don't.
  const spelled = `{"path":"/a","content":"${"\\u0078".repeat(300_000)}"}`;
  assert.equal(parseToolCall("write_file", spelled).kind, "ok");
});

test("a tool call's arguments are those of its own tool", () => {
  for (const tool of ["read_file", "write_file", "shell", "http_fetch"] as const) {
    for (const [other, text] of ACCEPTED) {
      const expected = tool === other ? "ok" : "invalid";
      assert.equal(parseToolCall(tool, text).kind, expected, `${tool} ${text}`);
    }
  }
  assert.ok(!ToolCall.safeParse({ tool: "read_file", arguments: { command: "ls" } }).success);
});

test("RequestedTool is 1 to 128 whole characters of any kind", () => {
  for (const name of ["a", "no such tool", "\u202e", "x".repeat(128)]) assert.ok(RequestedTool.safeParse(name).success, name);
  for (const name of ["", "x".repeat(129), "\ud800", null]) assert.ok(!RequestedTool.safeParse(name).success);
});
