import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Assembler } from "../../src/model/assemble.ts";
import type { Completion, ModelEvent } from "../../src/model/completion.ts";
import { CompletionError } from "../../src/model/model-error.ts";
import type { RawToolCall } from "../../src/model/tool-call-assembly.ts";

interface Assembled {
  readonly completion: Completion;
  readonly events: readonly ModelEvent[];
}

function assemble(deltas: readonly object[], finish = "stop", more: object = {}): Assembled {
  const events: ModelEvent[] = [];
  const assembler = new Assembler(100_000, (event) => events.push(event));
  for (const delta of deltas) assembler.push(JSON.stringify({ choices: [{ index: 0, delta }] }));
  assembler.push(JSON.stringify({ choices: [{ index: 0, finish_reason: finish, delta: {} }], ...more }));
  return { completion: assembler.finish(false), events };
}

/** The calls of a stream of pieces `[index, id, name, arguments]`, where undefined is left out. */
function calls(
  ...pieces: (readonly [index?: number | undefined, id?: string | undefined, name?: string | undefined, text?: unknown])[]
): readonly RawToolCall[] {
  const deltas = pieces.map(([index, id, name, text]) => ({ tool_calls: [{ index, id, function: { name, arguments: text } }] }));
  return assemble(deltas, "tool_calls").completion.toolCalls;
}

const named = (name: string, text: string, id = ""): RawToolCall => ({ id, name, arguments: text });

test("two calls in pieces come out in order", () => {
  const got = calls([0, "x", "a", ""], [0, undefined, undefined, '{"p":'], [0, undefined, undefined, "1}"], [1, "y", "b", "{}"]);
  assert.deepEqual(got, [named("a", '{"p":1}', "x"), named("b", "{}", "y")]);
});

test("one id for all calls keeps them apart by index", () => {
  assert.deepEqual(calls([0, "x", "a", "{}"], [1, "x", "b", "{}"]), [named("a", "{}", "x"), named("b", "{}", "x")]);
});

test("calls without ids come out without ids", () => {
  assert.deepEqual(calls([0, undefined, "a", "{}"], [1, undefined, "b", "{}"]), [named("a", "{}"), named("b", "{}")]);
});

test("calls that all have index 0 and ids of their own are not mixed", () => {
  assert.deepEqual(calls([0, "x", "a", '{"p":1}'], [0, "y", "a", '{"p":2}']), [
    named("a", '{"p":1}', "x"),
    named("a", '{"p":2}', "y"),
  ]);
});

test("calls that all have index 0 and no ids are not mixed", () => {
  const got = calls([0, undefined, "a", '{"p":1}'], [0, undefined, "a", '{"p":2}'], [0, undefined, "b", "{}"]);
  assert.deepEqual(got, [named("a", '{"p":1}'), named("a", '{"p":2}'), named("b", "{}")]);
});

test("calls without an index are told apart by their names and ids", () => {
  const got = calls([undefined, "x", "a", "{"], [undefined, undefined, undefined, "}"], [undefined, "y", "b", "{}"]);
  assert.deepEqual(got, [named("a", "{}", "x"), named("b", "{}", "y")]);
});

test("a name that is sent again and has grown replaces the first", () => {
  assert.deepEqual(calls([0, "x", "read", ""], [0, "x", "read_file", ""], [0, undefined, undefined, "{}"]), [
    named("read_file", "{}", "x"),
  ]);
});

test("a call with neither name nor arguments is left out, whatever the others are", () => {
  assert.deepEqual(calls([0, "x", "", ""], [1, "y", "b", "{}"], [2, "z", undefined, undefined]), [named("b", "{}", "y")]);
});

test("arguments that were cut, and that are an object instead of text, come out as they are", () => {
  assert.deepEqual(calls([0, "x", "a", '{"p":'], [1, "y", "b", { p: 1.5 }]), [
    named("a", '{"p":', "x"),
    named("b", '{"p":1.5}', "y"),
  ]);
});

test("text that looks like a call inside a thought is a thought", () => {
  const { completion } = assemble([{ reasoning_content: '<tool_call>{"name":"shell"}</tool_call>' }, { content: "ok" }]);
  assert.deepEqual(completion.toolCalls, []);
  assert.equal(completion.reasoning, '<tool_call>{"name":"shell"}</tool_call>');
});

test("thoughts under Ollama's name are thoughts, and reasoning_content wins where both are there", () => {
  assert.equal(assemble([{ reasoning: "a" }, { reasoning_content: "b", reasoning: "c" }]).completion.reasoning, "ab");
});

test("a character in two halves is passed on whole, and a lone half as U+FFFD", () => {
  const { completion, events } = assemble([{ content: "x\ud83e" }, { content: "\udd80y" }, { content: "\ud83e" }]);
  assert.equal(completion.content, "x🦀y\ufffd");
  assert.deepEqual(
    events.map((event) => (event.event === "text" ? event.text : "")),
    ["x", "🦀y", "\ufffd"],
  );
});

test("other choices than the first are ignored", () => {
  const assembler = new Assembler(1_000, () => {});
  assembler.push(JSON.stringify({ choices: [{ index: 1, delta: { content: "no" }, finish_reason: "stop" }] }));
  assert.throws(() => assembler.finish(false), CompletionError);
});

test("a reply at its length limit is marked as cut", () => {
  assert.equal(assemble([{ content: "a" }], "length").completion.cut, true);
});

test("usage comes from the timings, else from the usage, else is unknown", () => {
  const timings = { cache_n: 5, prompt_n: 2, predicted_n: 3 };
  const usage = { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 8 } };
  assert.deepEqual(assemble([], "stop", { timings, usage }).completion.usage, { prompt: 7, completion: 3, cached: 5 });
  assert.deepEqual(assemble([], "stop", { usage }).completion.usage, { prompt: 9, completion: 4, cached: 8 });
  assert.equal(assemble([], "stop", { usage }).completion.cacheHit, null);
  assert.deepEqual(assemble([]).completion.usage, { prompt: 0, completion: 0, cached: null });
});

test("usage, timings and progress that can't be used are no reason to lose a reply", () => {
  const wrong: readonly unknown[] = [
    1,
    "x",
    [],
    { prompt_n: "7", predicted_n: 3 },
    { prompt_n: -1, predicted_n: 1.5 },
    { prompt_n: 1e300 },
  ];
  for (const value of wrong) {
    const { completion } = assemble([{ content: "a" }], "stop", { timings: value, usage: value, prompt_progress: value });
    assert.deepEqual([completion.content, completion.usage], ["a", { prompt: 0, completion: 0, cached: null }]);
  }
});

test("an index that jumps, or is no index, is bad_reply, and what came before isn't mixed with it", () => {
  for (const index of [1, 7, 2 ** 31, Number.MAX_SAFE_INTEGER, 1e300, -1, 0.5]) {
    assert.throws(
      () => calls([index, "x", "a", "{}"]),
      (error) => error instanceof CompletionError && error.error.code === "bad_reply",
    );
  }
});

test("a piece of a thought that holds many tokens counts as many", () => {
  const assembler = new Assembler(100_000, () => {});
  const thoughts = (text: string): number =>
    assembler.push(JSON.stringify({ choices: [{ delta: { reasoning_content: text } }] })).thoughts;
  assert.deepEqual([thoughts(""), thoughts("so"), thoughts("x".repeat(32)), thoughts("x".repeat(3_200))], [0, 1, 1, 100]);
});

test("Assembler takes any pieces at all without an error but its own", () => {
  const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const piece = fc.record({
    index: maybe(fc.integer({ min: 0, max: 3 })),
    id: maybe(fc.oneof(fc.constantFrom("", "a", "b"), fc.string({ unit: "binary" }))),
    function: maybe(
      fc.record({ name: maybe(fc.constantFrom("", "x", "xy")), arguments: maybe(fc.constantFrom("", "{", "}", "{}", "\ud800")) }),
    ),
  });
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 3 }), { maxLength: 8 }), (deltas) => {
      try {
        const { completion } = assemble(deltas.map((tool_calls) => ({ tool_calls })));
        for (const call of completion.toolCalls) assert.ok(call.arguments.isWellFormed() && call.id.isWellFormed());
      } catch (error) {
        assert.ok(error instanceof CompletionError);
      }
    }),
  );
});
