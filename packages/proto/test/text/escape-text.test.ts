/** Text of others on a terminal: nothing in it can act, hide or look like another line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { escapeLayoutText, escapeText, quoteText, unreachable } from "../../src/index.ts";

/** Classes that must never come through, named one by one. */
const DANGEROUS: Readonly<Record<string, RegExp>> = {
  "C0, DEL and C1 controls": /[\u0000-\u001f\u007f-\u009f]/,
  "bidi controls": /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/,
  "zero-width characters": /[\u200b-\u200d\u2060-\u2064\ufeff\u00ad\u180e]/,
  "line and paragraph separators": /[\u2028\u2029]/,
  tags: /[\u{e0000}-\u{e007f}]/u,
  "variation selectors": /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u,
  "blank letters and symbols": /[\u115f\u1160\u3164\uffa0\u17b4\u17b5\u2800\u{1d159}]/u,
  "interlinear annotation": /[\ufff9-\ufffb]/,
  surrogates: /\p{Cs}/u,
  "private use": /\p{Co}/u,
  unassigned: /\p{Cn}/u,
  "invisible by default": /\p{Default_Ignorable_Code_Point}/u,
};

const LAST_CODE_POINT = 0x10ffff;

/** Every code point of the planes that hold characters; a sample of those that are all unassigned or private. */
function* codePoints(): Generator<string> {
  for (let point = 0; point <= LAST_CODE_POINT; point++) {
    const plane = point >> 16;
    if (plane <= 3 || plane === 14 || point % 251 === 0 || point === LAST_CODE_POINT) yield String.fromCodePoint(point);
  }
}

/** `\\uXXXX` for each half of a pair. */
function spelled(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${`000${character.charCodeAt(index).toString(16)}`.slice(-4)}`,
  ).join("");
}

test("escapeText() lets no character of a dangerous class through, of all that Unicode has", () => {
  const seen = new Map(Object.keys(DANGEROUS).map((name) => [name, 0]));
  for (const character of codePoints()) {
    let isDangerous = false;
    for (const [name, pattern] of Object.entries(DANGEROUS)) {
      if (!pattern.test(character)) continue;
      isDangerous = true;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
    if (isDangerous && escapeText(character) !== spelled(character)) assert.fail(spelled(character));
  }
  for (const [name, count] of seen) assert.ok(count > 0, name);
});

test("escapeText() leaves every letter, digit, sign and punctuation mark of every script alone", () => {
  const ordinary = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]$/u;
  const dangerous = Object.values(DANGEROUS);
  for (const character of codePoints()) {
    if (!ordinary.test(character) || dangerous.some((pattern) => pattern.test(character))) continue;
    if (escapeText(character) !== character) assert.fail(`U+${character.codePointAt(0)?.toString(16)} is escaped`);
  }
});

test("escapeText() leaves ordinary text as it is", () => {
  for (const text of [
    "",
    "plain ASCII ~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./",
    "Grüße, żółć, Ελληνικά, кириллица",
    "עברית العربية فارسی",
    "हिन्दी தமிழ் ไทย မြန်မာ",
    "日本語　中文 한국어",
    "👍 👋🏽 🇪🇺 🎉",
    "e\u0301 n\u00a0b ±×÷ €",
  ]) {
    assert.equal(escapeText(text), text);
    assert.equal(escapeLayoutText(text), text);
  }
});

test("escapeText() takes emoji sequences and joined letters apart: their parts stay, what joins them is shown", () => {
  assert.equal(escapeText("👩‍💻"), "👩\\u200d💻");
  assert.equal(escapeText("❤️"), "❤\\ufe0f");
  assert.equal(escapeText("می‌خواهم"), "می\\u200cخواهم");
  assert.equal(escapeText("🏴\u{e0067}\u{e0062}\u{e007f}"), "🏴\\udb40\\udc67\\udb40\\udc62\\udb40\\udc7f");
});

test("escapeText() disarms what steers a terminal, hides text, or begins a new line", () => {
  for (const [text, escaped] of [
    ["\u001b[2J\u001b]0;title\u0007", "\\u001b[2J\\u001b]0;title\\u0007"],
    ["\u009b31m", "\\u009b31m"],
    ["ok\r\nbrokerd: ready", "ok\\u000d\\u000abrokerd: ready"],
    ["a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
    ["invoice\u202efdp.exe", "invoice\\u202efdp.exe"],
    ["half \ud83d", "half \\ud83d"],
    ["\udc00\ud800", "\\udc00\\ud800"],
    ["tab\there", "tab\\u0009here"],
  ] as const) {
    assert.equal(escapeText(text), escaped);
  }
});

test("escapeLayoutText() keeps newline and tab and nothing else", () => {
  assert.equal(
    escapeLayoutText("a\tb\nc\r\nd\u000b\u000c\u0085\u2028\u202e"),
    "a\tb\nc\\u000d\nd\\u000b\\u000c\\u0085\\u2028\\u202e",
  );
});

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
);

test("escapeText() and escapeLayoutText() change nothing the second time, and leave only whole characters", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const make of [escapeText, escapeLayoutText]) {
        const escaped = make(text);
        assert.equal(make(escaped), escaped);
        assert.ok(escaped.isWellFormed());
      }
      assert.equal(escapeText(escapeLayoutText(text)), escapeText(text));
    }),
    { numRuns: 1000 },
  );
});

test("escapeText() of two texts after each other is both escapes after each other, but for a pair that they form", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (first, second) => {
      assert.equal(escapeText(first + second), escapeText(first) + escapeText(second));
    }),
  );
});

test("quoteText() is one JSON string, from which the text comes back", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const quoted = quoteText(text);
      assert.equal(JSON.parse(quoted), text);
      assert.equal(escapeText(quoted), quoted);
    }),
    { numRuns: 1000 },
  );
});

test("quoteText() shows where the text ends, and tells an escape from its spelling", () => {
  assert.equal(quoteText('a", see docs'), '"a\\", see docs"');
  assert.equal(quoteText("\u202e"), '"\\u202e"');
  assert.equal(quoteText("\\u202e"), '"\\\\u202e"');
});

test("unreachable() throws without the value", () => {
  // A value that a type check missed, as at run time.
  assert.throws(() => Reflect.apply(unreachable, undefined, ["\u001b secret"]), new TypeError("unreachable case: string"));
});
