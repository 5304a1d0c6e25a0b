import assert from "node:assert/strict";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import fc from "fast-check";
import { acceptCalls } from "../../src/turn/accept-calls.ts";
import { contentOf, namesOf, told } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { TestLoop } from "../support/test-loop.ts";

const deep = `${'{"a":'.repeat(100)}1${"}".repeat(100)}`;

/** What a model may write, what is stored of it, and what the broker is sent; null: the model is told instead. */
const CALLS: readonly (readonly [
  name: string | null,
  args: string | null,
  stored: readonly [string, string],
  sent: readonly [string, string] | null,
])[] = [
  ["read_file", '{"path":', ["read_file", "{}"], null],
  ["read_file", "[1]", ["read_file", "{}"], null],
  ["read_file", '"text"', ["read_file", "{}"], null],
  ["read_file", "null", ["read_file", "{}"], null],
  ["read_file", "", ["read_file", "{}"], ["read_file", "{}"]],
  ["read_file", '{"path":"\\ud800"}', ["read_file", "{}"], ["read_file", '{"path":"\\ud800"}']],
  ["read_file", '{"n":1e999}', ["read_file", "{}"], ["read_file", '{"n":1e999}']],
  ["read_file", deep, ["read_file", "{}"], ["read_file", deep]],
  ["read_file", '{"a":1.5,"a":2}', ["read_file", '{"a":1.5,"a":2}'], ["read_file", '{"a":1.5,"a":2}']],
  ["rm -rf\n", "{}", ["unknown", "{}"], ["rm -rf\n", "{}"]],
  [null, '{"path":"/a"}', ["unknown", '{"path":"/a"}'], null],
  [
    "call_tool",
    '{"name":"shell","arguments":"{\\"command\\": \\"ls\\"}"}',
    ["call_tool", '{"name":"shell","arguments":"{\\"command\\": \\"ls\\"}"}'],
    ["shell", '{"command": "ls"}'],
  ],
  [
    "call_tool",
    '{"name":"shell","arguments":{"command":"ls -l"}}',
    ["call_tool", '{"name":"shell","arguments":{"command":"ls -l"}}'],
    ["shell", '{"command":"ls -l"}'],
  ],
  ["call_tool", '{"name":"shell"}', ["call_tool", '{"name":"shell"}'], ["shell", "{}"]],
  ["call_tool", '{"name":"shell","arguments":[1]}', ["call_tool", '{"name":"shell","arguments":[1]}'], null],
  ["call_tool", '{"name":"shell","arguments":"no"}', ["call_tool", '{"name":"shell","arguments":"no"}'], null],
  ["call_tool", '{"name":"call_tool","arguments":{}}', ["call_tool", '{"name":"call_tool","arguments":{}}'], null],
  ["call_tool", '{"arguments":{}}', ["call_tool", '{"arguments":{}}'], null],
  ["call_tool", "not JSON", ["call_tool", "{}"], null],
];

for (const [name, args, stored, sent] of CALLS) {
  test(`a call of ${JSON.stringify(name)} with ${JSON.stringify(args).slice(0, 50)} is answered, and the next request is well-formed`, async () => {
    await using loop = await TestLoop.start({
      model: { script: [reply({ calls: [{ name, arguments: args, id: null }] }), reply({ content: "done" })] },
      broker: async (_request, send) => {
        await send(result("ran"), true);
      },
    });
    const turn = await loop.client.turn("s1", "go");
    assert.equal(contentOf(turn), "done");
    assert.deepEqual(
      loop.broker.requests.map((request) => [request.tool, request.arguments]),
      sent === null ? [] : [sent],
    );
    const messages = loop.model.requests[1]?.chat.messages ?? [];
    const call = messages.at(-2)?.tool_calls?.[0];
    assert.deepEqual([call?.function?.name, call?.function?.arguments], stored);
    assert.equal(messages.at(-1)?.["tool_call_id"], call?.id);
    assert.ok(!turn.events.some((event) => "tool" in event && event.tool === "call_tool"));
    if (sent === null) assert.match(told(messages.at(-1)), /^Failed: /u);
  });
}

test("clock and find_tool are answered without the broker, also through call_tool", async () => {
  const calls = [
    { name: "clock", arguments: "" },
    { name: "find_tool", arguments: '{"query":"read a file"}' },
    { name: "call_tool", arguments: '{"name":"find_tool","arguments":{"query":"web page"}}' },
  ];
  await using loop = await TestLoop.start({ model: { script: [reply({ calls }), reply({ content: "done" })] } });
  const turn = await loop.client.turn("s1", "go");
  assert.deepEqual(namesOf(turn), ["tool_call", "tool_result", "tool_call", "tool_result", "tool_call", "tool_result"]);
  const texts = loop.model.requests[1]?.chat.messages.slice(-3).map(told) ?? [];
  assert.match(texts[0] ?? "", /^\d{4}-\d\d-\d\dT.*Z$/u);
  assert.match(texts[1] ?? "", /^\{"tools":\[\{"name":"read_file"/u);
  assert.match(texts[2] ?? "", /^\{"tools":\[\{"name":"http_fetch"/u);
});

test("acceptCalls() makes any calls storable: ids that differ, plain names, arguments that are one JSON object", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "a", "a", "{}", '{"a":"\\udc00"}'), fc.json());
  fc.assert(
    fc.property(fc.array(fc.record({ id: text, name: text, arguments: text }), { maxLength: 10 }), (calls) => {
      const accepted = acceptCalls(calls, 0, new Set());
      assert.equal(accepted.length, calls.length);
      assert.equal(new Set(accepted.map(({ stored }) => stored.id)).size, calls.length);
      for (const { stored, name } of accepted) {
        assert.match(stored.name, /^[A-Za-z0-9_.:/-]{1,128}$/u);
        assert.ok(name.isWellFormed() && name.length <= 128);
        const value: unknown = JSON.parse(stored.arguments);
        assert.ok(typeof value === "object" && value !== null && !Array.isArray(value));
        assert.ok(JSON.stringify(value).length > 0);
      }
    }),
  );
});

test("acceptCalls() makes up no id that an earlier call of the conversation has", () => {
  const call = { id: "", name: "read_file", arguments: "{}" };
  const [first] = acceptCalls([call], 7, new Set());
  const made = acceptCalls([call, call], 7, new Set([first?.stored.id ?? ""]));
  assert.deepEqual(
    [first, ...made].map((accepted) => accepted?.stored.id),
    ["call00007", "call00008", "call00009"],
  );
});
