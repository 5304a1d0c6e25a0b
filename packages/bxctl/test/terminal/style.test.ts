import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryScreen } from "../support/memory-stream.ts";

test("colour and passing status are for terminals, colour unless NO_COLOR says otherwise", () => {
  for (const [columns, env, coloured, status] of [
    [80, {}, true, true],
    [80, { NO_COLOR: "" }, true, true],
    [80, { NO_COLOR: "0" }, false, true],
    [80, { TERM: "dumb" }, false, false],
    [0, {}, false, false],
  ] as const) {
    const { screen, stream } = memoryScreen(columns, env);
    assert.equal(screen.style.red("x") !== "x", coloured);
    screen.status("reading");
    assert.equal(stream.text.includes("reading"), status);
  }
});

test("a status is erased before anything else is written, and fits one row", () => {
  const { screen, stream } = memoryScreen(20, { NO_COLOR: "1" });
  screen.status("漢".repeat(40));
  screen.line("done");
  assert.equal(stream.text, `\r\u001b[K\u001b[?7l${"漢".repeat(9)}\u001b[?7h\r\u001b[K\u001b[?7ldone\n\u001b[?7h`);
});

test("a line that comes in the middle of a block has a row of its own, and the block goes on after it", () => {
  const { screen, stream } = memoryScreen();
  const block = screen.openBlock("│ ");
  block.push("one two");
  screen.line("note");
  block.push(" three");
  block.end();
  assert.equal(stream.text, "│ one two\nnote\n│  three\n");
});
