/** What a model is told of the tools, and what is said where a value isn't one of a grammar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  AbsPath,
  FetchUrl,
  Host,
  HostPattern,
  hostOfUrl,
  Label,
  MAX_ARGUMENTS,
  parseToolCall,
  RequestedTool,
  TOOL_ARGUMENTS,
  ToolName,
} from "../../src/index.ts";

function problemOf(schema: z.ZodType, value: unknown): string {
  return schema.safeParse(value).error?.issues[0]?.message ?? "accepted";
}

test("the tools are those that have arguments, in the same order", () => {
  assert.deepEqual(ToolName.options, Object.keys(TOOL_ARGUMENTS));
  for (const tool of ToolName.options) assert.equal(ToolName.parse(tool), tool);
});

test("each tool and each of its arguments is described to the model, no two in the same words", () => {
  const Described = z.looseObject({
    description: z.string(),
    properties: z.record(z.string(), z.looseObject({ description: z.string() })),
  });
  const texts = Object.values(TOOL_ARGUMENTS).flatMap((schema) => {
    const { description, properties } = Described.parse(z.toJSONSchema(schema, { io: "input" }));
    return [description, ...Object.values(properties).map((property) => property.description)];
  });
  assert.equal(texts.length, 10);
  assert.equal(new Set(texts).size, texts.length);
  for (const text of texts) assert.match(text, /^(?:[A-Z][^.]* [^.]*\.?|.*https:\/\/host\/.*)$/u);
});

test("each grammar says in one line what it expects", () => {
  assert.equal(
    problemOf(AbsPath, "srv"),
    "expected an absolute path without empty, '.' or '..' components, trailing slash or control characters",
  );
  assert.equal(
    problemOf(Host, "EXAMPLE.com"),
    "expected a host name of lower-case letters, digits and hyphens, no address, port or trailing dot",
  );
  assert.equal(problemOf(HostPattern, "*"), "expected a host name, or '*.' and a host name");
  assert.equal(
    problemOf(FetchUrl, "ftp://example.com/"),
    "expected https://host/… or http://host/… with a lower-case host name and no fragment",
  );
  assert.equal(problemOf(RequestedTool, "\ud800"), "expected well-formed Unicode");
});

test("arguments that are too large are refused with the limit", () => {
  const parsed = parseToolCall("write_file", JSON.stringify({ path: "/a", content: "x".repeat(MAX_ARGUMENTS) }));
  assert.deepEqual(parsed, { kind: "invalid", problem: "arguments larger than 1048576 bytes" });
});

test("hostOfUrl() throws on a text that nobody parsed", () => {
  assert.throws(() => Reflect.apply(hostOfUrl, undefined, ["https://EXAMPLE.com/"]), new TypeError("expected a parsed URL"));
});

test("a label has both its parts and no other", () => {
  assert.ok(Label.safeParse({ taint: "private", untrusted: true }).success);
  for (const wrong of [{}, { taint: "private" }, { untrusted: true }, { taint: "private", untrusted: true, more: 1 }]) {
    assert.equal(Label.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
});
