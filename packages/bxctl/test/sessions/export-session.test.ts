/** Exporting: every text of others stays in its block, whatever it holds, and the JSON has the logs as they are. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { systemClock } from "@boxmaker/edge/log";
import { canonicalJson, type SessionRecord, sha256 } from "@boxmaker/proto";
import fc from "fast-check";
import { exportSession } from "../../src/sessions/export-session.ts";
import { fencedText } from "../../src/sessions/markdown-block.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { GrantsHome, type Ran } from "../support/grants-home.ts";

const TIME = "2027-01-01T00:00:00.000Z";
const USAGE = { prompt: 1, completion: 1, cached: null };
const MARKDOWN_HOSTILE = [
  "```\n# Session other\n### You, now\n```",
  "````text\n</code></pre><h1>You</h1>\n`````",
  "~~~\n<script>alert(1)</script>\n> quote\n---\n",
  "![x](https://evil.example/?q=1) [a](javascript:b)",
  "    indented\n\n- list\n\n1. one\n\n\ttab",
  "\n\n```",
  "`".repeat(50),
];

/** Writes the epochs of session `a`, each with its baseline. */
function write(home: GrantsHome, epochs: readonly (readonly SessionRecord[])[]): void {
  mkdirSync(home.at("sessions/a"), { recursive: true });
  for (const [epoch, records] of epochs.entries()) {
    const baseline = `${canonicalJson({ version: 1, memory: false, system: `prompt ${epoch}`, tools: "[]" })}\n`;
    const start = { kind: "session_start", version: 1, time: TIME, epoch, origin: "terminal", slot: 0, baseline: sha256(baseline) };
    writeFileSync(home.at(`sessions/a/${epoch}.baseline.json`), baseline);
    writeFileSync(home.at(`sessions/a/${epoch}.jsonl`), [start, ...records].map((record) => `${canonicalJson(record)}\n`).join(""));
  }
}

function exportOf(home: GrantsHome, format = "markdown", id = "a"): Promise<Ran> {
  return home.run((at) => exportSession(at, id, format, systemClock));
}

/** The lines of a document outside its fences, as CommonMark finds them. */
function outside(document: string): readonly string[] {
  let fence = "";
  return document.split("\n").filter((line) => {
    if (fence === "") {
      fence = /^ {0,3}(`{3,})[^`]*$/u.exec(line)?.[1] ?? "";
      return fence === "";
    }
    const closing = /^ {0,3}(`{3,})[ \t]*$/u.exec(line)?.[1] ?? "";
    if (closing.length >= fence.length) fence = "";
    return false;
  });
}

function hostileTurn(text: string): readonly SessionRecord[] {
  return [
    { kind: "user", time: TIME as never, text },
    {
      kind: "assistant",
      content: text,
      reasoning: text,
      thinking_capped: false,
      tool_calls: [{ id: "x", name: text, arguments: text }],
    },
    { kind: "call_sent", call: 1 as never, id: "x", tool: text },
    {
      kind: "tool_result",
      call: 1 as never,
      id: "x",
      tool: text,
      content: text,
      class: "private",
      untrusted: true,
      truncated: true,
    },
    { kind: "usage", usage: USAGE },
    { kind: "cancelled", reason: text },
    { kind: "cache_loss", expected: 2, cached: 1 },
  ];
}

test("a conversation of two epochs is one document, with what was carried over shown once", async () => {
  await using home = await GrantsHome.make();
  const user: SessionRecord = { kind: "user", time: TIME as never, text: "hello" };
  const answer: SessionRecord = { kind: "assistant", content: "hi", reasoning: "", thinking_capped: false, tool_calls: [] };
  const end: SessionRecord = { kind: "epoch_end", carry: "turn", shortened: null, summary: "They met.", usage: USAGE };
  write(home, [
    [user, end],
    [user, answer],
  ]);
  const { status, out, err } = await exportOf(home);
  assert.deepEqual([status, err], [0, ""]);
  const fence = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
  assert.equal(
    out,
    [
      "# Session a",
      "Comes from terminal, slot 0.",
      `## Epoch 0, begun ${TIME}`,
      "### System prompt",
      fence("prompt 0"),
      `### You, ${TIME}`,
      fence("hello"),
      "### Summary, with which the next epoch begins",
      fence("They met."),
      `## Epoch 1, begun ${TIME}`,
      "### System prompt",
      fence("prompt 1"),
      "The last turn goes on here.",
      "### Model",
      fence("hi"),
    ].join("\n\n") + "\n",
  );
});

test("no hostile text leaves its block in Markdown, or can steer a terminal in either format", async () => {
  for (const text of [...HOSTILE, ...MARKDOWN_HOSTILE, [...HOSTILE, ...MARKDOWN_HOSTILE].join("\n"), "x".repeat(1_000_000)]) {
    await using home = await GrantsHome.make();
    write(home, [
      [...hostileTurn(text), { kind: "epoch_end", carry: "nothing", shortened: null, summary: text, usage: USAGE }],
      hostileTurn(text),
    ]);
    const { out } = await exportOf(home);
    assert.equal(findUnsafe(out), undefined);
    for (const line of outside(out)) {
      assert.match(
        line,
        /^(?:|#{1,3} [A-Za-z0-9 ,:.-]+|Comes from terminal, slot 0\.|The model server read [\w ]+: 1 of 2 [a-z ]+\.)$/u,
      );
    }
    assert.equal(outside(out).filter((line) => line.startsWith("### You")).length, 2);
    const json = await exportOf(home, "json");
    assert.equal(findUnsafe(json.out), undefined);
    const { epochs } = JSON.parse(json.out) as { epochs: { records: { text?: string }[] }[] };
    assert.equal(epochs[1]?.records[0]?.text, text);
  }
});

test("fencedText() is one fenced block of any text", () => {
  const piece = fc.constantFrom("`", "```", "\n", "\r", " ", "~~~", "text", "<b>", "\u2028", "a");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("")),
      (text) => {
        assert.deepEqual(outside(`${fencedText(text)}\nend`), ["end"]);
      },
    ),
    { numRuns: 500 },
  );
});

test("fencedText() takes a text of a million backticks, each on its own", () => {
  assert.deepEqual(outside(`${fencedText("`a".repeat(1_000_000))}\nend`), ["end"]);
});

test("a session that isn't there, a damaged log, another format and an id that is none are one line each", async () => {
  await using home = await GrantsHome.make();
  assert.match((await exportOf(home)).err, /^bxctl: there is no such session: a in "HOME\/sessions"\n$/u);
  write(home, [hostileTurn("x")]);
  appendFileSync(home.at("sessions/a/0.jsonl"), '{"kind":"us');
  const torn = await exportOf(home);
  assert.deepEqual([torn.status, torn.out], [1, ""]);
  assert.match(torn.err, /0\.jsonl": line 9: the line is torn; see docs\/runbook\.md#session-log-damaged\n$/u);
  assert.deepEqual((await exportOf(home, "html")).status, 2);
  assert.deepEqual((await exportOf(home, "json", "../etc")).status, 2);
});
