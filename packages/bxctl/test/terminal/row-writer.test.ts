import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RowWriter } from "../../src/terminal/row-writer.ts";
import { measureText } from "../../src/terminal/text-width.ts";

function write(pieces: readonly string[], columns: number | undefined): readonly string[] {
  let written = "";
  const rows = new RowWriter({
    marks: { first: "│ ", rest: "│ " },
    columns: () => columns,
    style: (text) => text,
    write: (text) => {
      written += text;
    },
  });
  for (const piece of pieces) rows.push(piece);
  rows.end();
  return written === "" ? [] : written.slice(0, -1).split("\n");
}

/** Words, wide and combining letters, blanks of every kind that escaped text can hold. */
const text = fc
  .array(fc.constantFrom("a", "word ", " ", "\n", "\t", "漢", "字", "e\u0301", "👋", "한", "verylongwordindeed", "\\u202e", "ｗ"), {
    maxLength: 60,
  })
  .map((parts) => parts.join(""));

test("rows are the same whatever the pieces the text came in", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(200)), fc.constantFrom(undefined, 14, 20, 80), (whole, cuts, columns) => {
      const pieces: string[] = [];
      let from = 0;
      for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
        pieces.push(whole.slice(from, cut));
        from = Math.max(from, Math.min(cut, whole.length));
      }
      pieces.push(whole.slice(from));
      assert.deepEqual(write(pieces, columns), write([whole], columns));
    }),
  );
});

test("on a terminal every row begins with the mark, leaves a column free, and nothing but blanks is lost", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 13, max: 100 }), (whole, columns) => {
      const rows = write([whole], columns);
      for (const row of rows) {
        assert.ok(row.startsWith("│ "), row);
        assert.ok(measureText(row) < columns, row);
      }
      assert.equal(
        rows
          .map((row) => row.slice(2))
          .join("")
          .replace(/\s/gu, ""),
        whole.replace(/\s/gu, ""),
      );
    }),
  );
});

test("elsewhere rows are as long as lines, tabs included", () => {
  assert.deepEqual(write(["one two\tthree\n\n", "x".repeat(3000), "\n"], undefined), [
    "│ one two\tthree",
    "│ ",
    `│ ${"x".repeat(3000)}`,
  ]);
});

test("rows break between words, and inside one that is too long", () => {
  assert.deepEqual(write(["the quick brown fox"], 14), ["│ the quick ", "│ brown fox"]);
  assert.deepEqual(write(["an abcdefghijklmnop"], 14), ["│ an ", "│ abcdefghijk", "│ lmnop"]);
  assert.deepEqual(write(["漢字漢字漢字漢字"], 14), ["│ 漢字漢字漢", "│ 字漢字"]);
});

test("a terminal too narrow for anything still gets its text", () => {
  assert.deepEqual(write(["abcdefghijkl"], 1), ["│ abcdefghij", "│ kl"]);
});

test("a megabyte without a blank is written in time and memory that fit", () => {
  const rows = write(["x".repeat(1024 * 1024)], 80);
  assert.equal(rows.join("").replaceAll("│ ", "").length, 1024 * 1024);
});
