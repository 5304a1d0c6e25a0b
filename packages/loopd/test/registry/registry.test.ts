import assert from "node:assert/strict";
import { test } from "node:test";
import { coreToolsText, findTools } from "../../src/registry/registry.ts";

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

const found = (query: string): readonly Tool[] => (JSON.parse(findTools(query)) as { tools: Tool[] }).tools;

test("coreToolsText() is clock, find_tool and call_tool, byte for byte as it was", () => {
  assert.equal(
    coreToolsText(),
    '[{"type":"function","function":{"name":"clock","description":"Tells the time now, in UTC.","parameters":{"type":"object","properties":{},"additionalProperties":false}}},' +
      '{"type":"function","function":{"name":"find_tool","description":"Finds tools and how to call them: for reading and writing files, running shell commands, fetching URLs, and more. Call one with call_tool.","parameters":{"type":"object","properties":{"query":{"type":"string","maxLength":1000,"description":"Words that say what you need; empty for all tools"}},"required":["query"],"additionalProperties":false}}},' +
      '{"type":"function","function":{"name":"call_tool","description":"Calls a tool that find_tool has found.","parameters":{"type":"object","properties":{"name":{"type":"string","description":"The tool\'s name, as find_tool gave it"},"arguments":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{},"description":"The tool\'s arguments"}},"required":["name","arguments"],"additionalProperties":false}}}]',
  );
});

test("findTools() offers every tool of brokerd's with a schema that takes no unknown argument, and no core tool", () => {
  const tools = found("");
  assert.deepEqual(tools.map(({ name }) => name).sort(), ["http_fetch", "read_file", "shell", "write_file"]);
  for (const { description, parameters } of tools) {
    assert.notEqual(description, "");
    assert.equal(parameters["additionalProperties"], false);
    assert.deepEqual(Object.keys(parameters).sort(), ["additionalProperties", "properties", "required", "type"]);
  }
});

test("findTools() puts what fits first, by name, description or other words, and offers all where nothing fits", () => {
  assert.equal(found("read my notes")[0]?.name, "read_file");
  assert.equal(found("shell")[0]?.name, "shell");
  assert.equal(found("download a WEB page")[0]?.name, "http_fetch");
  assert.equal(found("  save this \n")[0]?.name, "write_file");
  assert.equal(found("time").length, 4);
  assert.ok(!found("time").some(({ name }) => name === "clock"));
});
