/** Every way by which a program of ours writes text for people or scripts, with every hostile text: none steers a terminal. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { openLinePrinter, openLog } from "@boxmaker/edge/log";
import { TurnEvent } from "@boxmaker/proto";
import { showCheck } from "../../packages/boxmaker/src/doctor/check.ts";
import { phraseFailedEnd } from "../../packages/bxctl/src/chat/event-lines.ts";
import { JsonView } from "../../packages/bxctl/src/chat/json-view.ts";
import { ScreenView } from "../../packages/bxctl/src/chat/turn-view.ts";
import { fencedText } from "../../packages/bxctl/src/sessions/markdown-block.ts";
import { jsonLine } from "../../packages/bxctl/src/terminal/json-line.ts";
import { BAD_BYTES, BROKEN, findUnsafe, LONG } from "../../packages/bxctl/test/support/corpus.ts";
import { memoryScreen } from "../../packages/bxctl/test/support/memory-stream.ts";

const TEXTS: readonly string[] = [...BROKEN, ...BAD_BYTES.map((bytes) => bytes.toString()), ...BAD_BYTES.map(latin1)];
const ROOT = new URL("../../", import.meta.url).pathname;

/** Bytes as a terminal takes them that isn't set to UTF-8. */
function latin1(bytes: Buffer): string {
  return bytes.toString("latin1");
}

type Terminal = readonly [columns: number, env: Readonly<Record<string, string>>];
const PIPE: readonly Terminal[] = [[0, {}]];
const TERMINALS: readonly Terminal[] = [
  [0, {}],
  [40, {}],
  [80, { NO_COLOR: "1" }],
  [80, { TERM: "dumb" }],
];

/** Each event that holds a text of others, with that text in each place. */
function eventsOf(text: string): readonly unknown[] {
  const wellFormed = text.toWellFormed();
  return [
    { event: "text", text: wellFormed },
    { event: "reasoning", text: wellFormed },
    { event: "retrying", attempt: 1, after_ms: 1, error: wellFormed },
    { event: "tool_call", tool: wellFormed },
    { event: "tool_denied", tool: wellFormed, reason: "no_matching_grant" },
    { event: "tool_failed", tool: wellFormed, message: wellFormed },
    { event: "tool_result", tool: wellFormed, class: "private", truncated: true },
    { event: "taint", from: "public", to: "private", untrusted: true, tool: wellFormed },
  ];
}

/** What a chat shows of a turn, by this view. */
function turnOn([columns, env]: Terminal, text: string, kind: "streamed" | "final" | "json"): string {
  const { screen, stream } = memoryScreen(columns, env);
  const view = kind === "json" ? new JsonView(screen, screen) : new ScreenView({ events: screen, answers: screen, text: kind });
  for (const event of eventsOf(text)) {
    const parsed = TurnEvent.safeParse(event);
    // A name that is too long is refused by the frame's schema.
    if (parsed.success) view.event(parsed.data);
  }
  view.end({ kind: "done", content: text, usage: { prompt: 1, completion: 1, cached: null } });
  view.end({ kind: "refused", code: "inference", detail: text });
  view.end({ kind: "lost", problem: text });
  return stream.text;
}

function onScreen(terminals: readonly Terminal[], write: (screen: ReturnType<typeof memoryScreen>["screen"]) => void): string {
  return terminals
    .map(([columns, env]) => {
      const { screen, stream } = memoryScreen(columns, env);
      write(screen);
      return stream.text;
    })
    .join("");
}

function gathered(run: (write: (text: string) => void) => void): string {
  let all = "";
  run((text) => {
    all += text;
  });
  return all;
}

const PATHS: readonly (readonly [name: string, print: (text: string, terminals: readonly Terminal[]) => string])[] = [
  ["a line of bxctl", (text, terminals) => onScreen(terminals, (screen) => screen.line(text))],
  [
    "a styled line of bxctl",
    (text, terminals) => onScreen(terminals, (screen) => screen.line(screen.style.red(text), undefined, screen.style.bold)),
  ],
  ["a passing line of bxctl", (text, terminals) => onScreen(terminals, (screen) => screen.status(text))],
  ["output of bxctl for machines", (text, terminals) => onScreen(terminals, (screen) => screen.raw(text))],
  [
    "streamed text, cut anywhere",
    (text, terminals) =>
      onScreen(terminals, (screen) => {
        const block = screen.openBlock("| ", screen.style.dim);
        for (let at = 0; at < text.length; at += 4_099) block.push(text.slice(at, at + 4_099));
        for (const unit of text.slice(0, 64).split("")) block.push(unit);
        block.end();
      }),
  ],
  ["JSON of bxctl, in names, too", (text) => jsonLine({ [text]: [text] })],
  ["a block of an exported conversation", fencedText],
  ["a turn in a chat", (text, terminals) => terminals.map((terminal) => turnOn(terminal, text, "streamed")).join("")],
  ["a turn with --say", (text, terminals) => terminals.map((terminal) => turnOn(terminal, text, "final")).join("")],
  ["a turn with --json", (text, terminals) => terminals.map((terminal) => turnOn(terminal, text, "json")).join("")],
  [
    "a failed turn",
    (text, terminals) =>
      onScreen(terminals, (screen) => screen.line(phraseFailedEnd({ kind: "refused", code: "internal", detail: text }))),
  ],
  [
    "a log line of loopd, brokerd and inferproxy",
    (text) =>
      gathered((write) => {
        const log = openLog(write, () => 0);
        log.info(text, { [text]: text });
        log.warn("event", { text });
        log.error("event", { text });
      }),
  ],
  ["a line of a program beside its log", (text) => gathered((write) => openLinePrinter(write, text)(text))],
  ["a line of doctor", (text) => showCheck({ result: "failed", name: text, text }, false)],
  ["JSON of doctor", (text) => showCheck({ result: "failed", name: text, text }, true)],
];

for (const [name, print] of PATHS) {
  test(`no hostile text steers a terminal by ${name}`, () => {
    const short = TEXTS.map((text) => ({ text, terminals: TERMINALS }));
    const long = LONG.map((text) => ({ text, terminals: PIPE }));
    for (const { text, terminals } of [...short, ...long]) {
      const unsafe = findUnsafe(print(text, terminals));
      const shown = JSON.stringify(text.slice(0, 40));
      assert.equal(unsafe, undefined, `${shown} left ${JSON.stringify(unsafe)}`);
    }
  });
}

test("what is one line stays one, whatever is in it", () => {
  for (const text of [...TEXTS, "one\ntwo", "one\r\ntwo\n"]) {
    for (const name of ["JSON of bxctl, in names, too", "a line of a program beside its log", "JSON of doctor"]) {
      const printed = PATHS.find(([path]) => path === name)?.[1](text, PIPE) ?? "";
      assert.equal(printed.indexOf("\n"), printed.length - 1, name);
    }
    assert.equal(showCheck({ result: "ok", name: "a check", text }, false).split("\n").length, 2);
  }
});

test("a hostile text isn't lost: it is there with its characters spelled out", () => {
  const printed = openedLine("a\u001b[2J\u202e\u{e0041}b");
  assert.equal(printed, "p: a\\u001b[2J\\u202e\\udb40\\udc41b\n");
  assert.equal(openedLine("a\\u001bb"), "p: a\\u001bb\n");
});

function openedLine(text: string): string {
  return gathered((write) => openLinePrinter(write, "p: ")(text));
}

/** Where a standard stream may be named: the programs themselves, whose lines go through the printers above. */
const WRITERS = /^packages\/[a-z-]+\/src\/main\.ts$|^packages\/brokerd\/src\/attack\/socket\/network-worker\.ts$/u;

test("no other file writes to a standard stream", () => {
  const files = globSync("packages/*/src/**/*.ts", { cwd: ROOT });
  assert.ok(files.length > 300);
  const naming = files.filter((file) => /process\.std(?:out|err)\b/u.test(sourceOf(file)));
  assert.deepEqual(
    naming.filter((file) => !WRITERS.test(file)),
    [],
  );
});

/** In a program, what is written as it is: a usage, or text that went through a printer, a log or an escape. */
const AS_IT_IS = /process\.std(?:out|err)\.write\((?<what>.*)/gu;
const ESCAPED = /^(?:USAGE\)|text\)|line\),?|`\$\{USAGE\}\\n`\)|escapeLayoutText\(|`\$\{escapeText\()/u;

test("a program writes nothing that wasn't escaped", () => {
  for (const file of globSync("packages/*/src/main.ts", { cwd: ROOT })) {
    for (const { groups } of sourceOf(file).matchAll(AS_IT_IS)) {
      const what = groups?.["what"] ?? "";
      if (FIXED.has(file)) continue;
      assert.match(what, ESCAPED, `${file} writes ${what}`);
    }
  }
});

/** Programs that say nothing of anybody else's. */
const FIXED = new Set(["packages/gatewayd/src/main.ts", "packages/demo-model/src/main.ts"]);

function sourceOf(file: string): string {
  return readFileSync(`${ROOT}${file}`, "utf8");
}
