import assert from "node:assert/strict";
import { test } from "node:test";
import { ApprovalId, DENIAL_SENTENCES, DenialReason, type TurnEvent } from "@boxmaker/proto";
import { JsonView } from "../../src/chat/json-view.ts";
import type { TurnEnd } from "../../src/chat/run-turn.ts";
import { ScreenView } from "../../src/chat/turn-view.ts";
import { EXPIRES } from "../support/asks.ts";
import { BROKEN, findUnsafe } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";
import { USAGE } from "../support/scripted-server.ts";

function everyEvent(text: string): readonly TurnEvent[] {
  return [
    { event: "queued", ahead: 2 },
    { event: "waiting", slot_busy: true },
    { event: "progress", done: 10, total: 20 },
    { event: "reasoning", text },
    { event: "thinking_capped" },
    { event: "text", text },
    { event: "discarded" },
    { event: "retrying", attempt: 2, after_ms: 500, error: text },
    { event: "tool_call", tool: text },
    { event: "approval_pending", approval: ApprovalId.parse(41), tool: text, expires: EXPIRES },
    { event: "tool_denied", tool: text, reason: "taint" },
    { event: "tool_failed", tool: text, message: text },
    { event: "tool_result", tool: text, class: "secret", truncated: true },
    { event: "taint", from: "public", to: "secret", untrusted: true, tool: text },
    { event: "cache_loss", expected: 100, cached: 7 },
    { event: "epoch", number: 1 },
  ];
}

function show(events: readonly TurnEvent[], end: TurnEnd, columns = 0): string {
  const { screen, stream } = memoryScreen(columns, { NO_COLOR: "1" });
  const view = new ScreenView({ events: screen, answers: screen, text: "streamed" });
  for (const event of events) view.event(event);
  view.end(end);
  return stream.text;
}

function done(content: string): TurnEnd {
  return { kind: "done", content, usage: USAGE };
}

test("nothing that a model, a tool or a peer wrote steers a terminal, in any event, on any way to print it", () => {
  for (const text of [...BROKEN, BROKEN.join(""), BROKEN.join("\n").repeat(20)]) {
    for (const columns of [0, 1, 40, 200]) {
      for (const end of [done(text), done(`${text}x`)]) {
        assert.equal(findUnsafe(show(everyEvent(text), end, columns)), undefined, JSON.stringify(text.slice(0, 80)));
      }
      const { screen, stream } = memoryScreen(columns);
      const json = new JsonView(screen, screen);
      for (const event of everyEvent(text)) json.event(event);
      json.end(done(text));
      assert.equal(findUnsafe(stream.text), undefined);
    }
  }
});

test("on a terminal every row that holds the model's text begins with a mark", () => {
  const text = BROKEN.join(" ").repeat(50);
  const rows = show(
    [
      { event: "reasoning", text },
      { event: "text", text },
    ],
    done(`${text}${text}`),
    60,
  )
    .replaceAll(/\u001b\[\?7[lh]/gu, "")
    .split("\n");
  assert.ok(rows.length > 20);
  assert.deepEqual(
    rows.slice(0, -1).filter((row) => !/^[│┊] /u.test(row)),
    [],
  );
});

test("JSON lines hold the same text when they are read again", () => {
  const { screen, stream } = memoryScreen();
  const view = new JsonView(screen, memoryScreen().screen);
  const text = BROKEN.slice(0, -3).join("");
  for (const event of everyEvent(text)) view.event(event);
  view.end({ kind: "refused", code: "inference", detail: "x" });
  view.end({ kind: "lost", problem: "y" });
  view.end({ kind: "left" });
  const lines = stream.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  assert.deepEqual(lines, [
    ...everyEvent(text).map((body) => ({ kind: "turn_event", body })),
    { kind: "error", body: { code: "inference", detail: "x" } },
    { kind: "lost", body: { problem: "y" } },
    { kind: "left", body: {} },
  ]);
});

test("events are one line each, with the class of a result and the reason of a denial", () => {
  assert.equal(
    show(
      everyEvent("read_file").filter(({ event }) => event !== "text" && event !== "reasoning"),
      done("ok"),
    ),
    [
      "• thinking was cut short at its limit",
      "• the reply was lost on its way: what is shown of it above is discarded",
      "• the model server failed (read_file); attempt 2 in 500 ms",
      "• read_file: denied: the session has seen data too confidential for it",
      "• read_file: failed: read_file",
      "• read_file: done, secret, truncated",
      "• this session has now seen secret data (public before) and text of strangers, by read_file",
      "• the model read the conversation again: 7 of 100 tokens were still cached",
      "• the conversation was summed up to make room (epoch 1)",
      "ok",
      "",
    ].join("\n"),
  );
});

test("every denial is told in the owner's words, and those that are the box's fault say where to look", () => {
  const lines = DenialReason.options.map((reason) => show([{ event: "tool_denied", tool: "shell", reason }], done("ok")));
  assert.equal(new Set(lines).size, Object.keys(DENIAL_SENTENCES).length);
  const pointed = DenialReason.options.filter((_reason, index) => lines[index]?.includes("see docs/runbook.md#"));
  assert.deepEqual(pointed, ["grants_invalid", "audit_unavailable", "low_space"]);
});

test("the answer is shown once: what was streamed isn't repeated, what wasn't is added", () => {
  const text = (value: string): TurnEvent => ({ event: "text", text: value });
  assert.equal(show([text("one "), text("two")], done("one two")), "one two\n");
  assert.equal(show([text("one ")], done("one two")), "one two\n");
  assert.equal(show([], done("one two")), "one two\n");
  assert.equal(show([text("one")], done("something else")), "one\nsomething else\n");
  const call: readonly TurnEvent[] = [
    { event: "tool_call", tool: "clock" },
    { event: "tool_result", tool: "clock", class: "public", truncated: false },
  ];
  assert.equal(show([text("I look."), ...call, text("noon")], done("noon")), "I look.\n• clock: done, public\nnoon\n");
});

test("a reply that was lost is said to be discarded, and the one that follows is shown whole", () => {
  const text = (value: string): TurnEvent => ({ event: "text", text: value });
  const lost = "• the reply was lost on its way: what is shown of it above is discarded\n";
  const events = [text("one t"), { event: "discarded" } as const, text("one "), text("two")];
  assert.equal(show(events, done("one two")), `one t\n${lost}one two\n`);
  assert.equal(show([text("one"), { event: "discarded" }], done("one")), `one\n${lost}one\n`);
});

test("an answer that is empty is said to be none", () => {
  assert.equal(show([], done("")), "• the model gave no answer\n");
  assert.equal(show([{ event: "reasoning", text: "hm" }], done(" \n")), "┊ hm\n• the model gave no answer\n");
});

test("a turn without an answer is one line", () => {
  const text: TurnEvent = { event: "text", text: "so far" };
  assert.equal(
    show([text], { kind: "refused", code: "turn_limit", detail: "too many calls" }),
    "so far\nturn failed: turn_limit: too many calls\n",
  );
  assert.equal(show([text], { kind: "refused", code: "cancelled", detail: "" }), "so far\nturn cancelled\n");
  assert.equal(
    show([{ event: "tool_call", tool: "shell" }], { kind: "lost", problem: "loopd is away" }),
    "turn failed: loopd is away; shell had no result yet\n",
  );
});

test("on a terminal what is going on is shown until something else is", () => {
  const text = show(
    [
      { event: "progress", done: 10, total: 20 },
      { event: "text", text: "hi" },
      { event: "waiting", slot_busy: false },
    ],
    done("hi"),
    80,
  );
  assert.ok(text.includes("reading the conversation: 10 of 20 tokens"));
  assert.ok(!text.includes("waiting"), "a status never erases a row that is being written on");
});
