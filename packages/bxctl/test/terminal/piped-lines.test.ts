import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { PipedLines } from "../../src/terminal/piped-lines.ts";

const NEVER = new AbortController().signal;

function linesOf(input: PassThrough): PipedLines {
  return new PipedLines(input, undefined);
}

async function readAll(lines: PipedLines): Promise<readonly string[]> {
  const read: string[] = [];
  for (;;) {
    const line = await lines.ask("", { signal: NEVER, remember: false });
    if (line.kind !== "line") return read;
    read.push(line.text);
  }
}

test("lines come in order whatever the pieces they came in, the last one without its newline too", async () => {
  const input = new PassThrough();
  using lines = linesOf(input);
  const bytes = Buffer.from("one\ntwö\r\n\n👋 four");
  for (const byte of bytes) input.write(Buffer.from([byte]));
  input.end();
  assert.deepEqual(await readAll(lines), ["one", "twö", "", "👋 four"]);
  assert.deepEqual(await lines.ask("", { signal: NEVER, remember: false }), { kind: "end" });
});

test("a question that is taken back leaves the line to the next one", async () => {
  const input = new PassThrough();
  using lines = linesOf(input);
  const settled = new AbortController();
  const first = lines.ask("", { signal: settled.signal, remember: false });
  settled.abort();
  assert.deepEqual(await first, { kind: "withdrawn" });
  assert.deepEqual(await lines.ask("", { signal: settled.signal, remember: false }), { kind: "withdrawn" });
  input.end("one\n");
  assert.deepEqual(await readAll(lines), ["one"]);
});

test("piped lines are never discarded", async () => {
  const input = new PassThrough();
  using lines = linesOf(input);
  input.end("41\n");
  assert.equal(await lines.discardTyped(), false);
  assert.deepEqual(await readAll(lines), ["41"]);
});

test("a writer faster than the turns is made to wait, and loses nothing", async () => {
  const input = new PassThrough();
  using lines = linesOf(input);
  const all = Array.from({ length: 5000 }, (_value, index) => `line ${index}`);
  let waited = false;
  const writing = (async () => {
    for (const line of all) {
      if (input.write(`${line.padEnd(100)}\n`)) continue;
      waited = true;
      await new Promise((resolve) => input.once("drain", resolve));
    }
    input.end();
  })();
  const read = await readAll(lines);
  await writing;
  assert.ok(waited);
  assert.deepEqual(
    read.map((line) => line.trimEnd()),
    all,
  );
});

test("an input that fails has ended", async () => {
  const input = new PassThrough();
  using lines = linesOf(input);
  input.destroy(new Error("EIO"));
  assert.deepEqual(await readAll(lines), []);
});
