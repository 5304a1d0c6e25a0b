import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type FileLine, readFirstLine, readLastLine } from "@boxmaker/edge/audit-files";
import { findLineStart } from "@boxmaker/edge/day-files";
import { DayFileName, MAX_RECORD_BYTES } from "@boxmaker/proto";
import fc from "fast-check";

const NAME = DayFileName.parse("2026-01-05.jsonl");

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "boxmaker-lines-"));

  write(content: string | Uint8Array): number {
    writeFileSync(join(this.path, NAME), content);
    return Buffer.byteLength(content);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

interface Ends {
  readonly first: string | undefined;
  readonly last: string | undefined;
}

function show(line: FileLine | undefined): string | undefined {
  return line === undefined ? undefined : `${line.offset}:${Buffer.from(line.content).toString()}`;
}

async function endsOf(folder: Folder, bytes: number): Promise<Ends> {
  const day = { name: NAME, bytes };
  return { first: show(await readFirstLine(folder.path, day)), last: show(await readLastLine(folder.path, day)) };
}

test("the first and the last line of a file are those that end in its first bytes", async () => {
  using folder = new Folder();
  const bytes = folder.write("ä\nbb\nccc\nrest");
  assert.deepEqual(await endsOf(folder, bytes - 4), { first: "0:ä", last: "6:ccc" });
  assert.deepEqual(await endsOf(folder, bytes), { first: "0:ä", last: undefined });
  assert.deepEqual(await endsOf(folder, 6), { first: "0:ä", last: "3:bb" });
  assert.deepEqual(await endsOf(folder, 3), { first: "0:ä", last: "0:ä" });
  assert.deepEqual(await endsOf(folder, 2), { first: undefined, last: undefined });
  assert.deepEqual(await endsOf(folder, 0), { first: undefined, last: undefined });
});

test("an empty line is a line", async () => {
  using folder = new Folder();
  assert.deepEqual(await endsOf(folder, folder.write("\n")), { first: "0:", last: "0:" });
  assert.deepEqual(await endsOf(folder, folder.write("a\n\n")), { first: "0:a", last: "2:" });
});

test("a line of as many bytes as a record may have is read, a longer one isn't", async () => {
  using folder = new Folder();
  for (const [length, isRead] of [
    [MAX_RECORD_BYTES, true],
    [MAX_RECORD_BYTES + 1, false],
  ] as const) {
    const bytes = folder.write(`${"x".repeat(length)}\n${"y".repeat(length)}\n`);
    const { first, last } = await endsOf(folder, bytes);
    assert.deepEqual(
      [first?.length, last?.length],
      isRead ? [length + 2, `${length + 1}:`.length + length] : [undefined, undefined],
    );
  }
});

test("lines of any length are found, whatever pieces they are read in", async () => {
  using folder = new Folder();
  const lengths = fc.array(fc.oneof(fc.nat(100), fc.constantFrom(65_535, 65_536, 65_537, 131_072)), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(lengths, async (list) => {
      const lines = list.map((length, index) => String(index).repeat(length));
      const bytes = folder.write(lines.map((line) => `${line}\n`).join(""));
      const last = lines.at(-1) ?? "";
      assert.deepEqual(await endsOf(folder, bytes), { first: `0:${lines[0]}`, last: `${bytes - last.length - 1}:${last}` });
    }),
    { numRuns: 60 },
  );
});

test("a file that has become shorter, and a link, are errors", async () => {
  using folder = new Folder();
  folder.write("a\n");
  await assert.rejects(readFirstLine(folder.path, { name: NAME, bytes: 9 }), /became shorter while it was read/u);
  await assert.rejects(readLastLine(folder.path, { name: NAME, bytes: 9 }), /became shorter while it was read/u);
  const link = DayFileName.parse("2026-01-06.jsonl");
  symlinkSync(join(folder.path, NAME), join(folder.path, link));
  await assert.rejects(readFirstLine(folder.path, { name: link, bytes: 2 }), { code: "ELOOP" });
  await assert.rejects(readLastLine(folder.path, { name: link, bytes: 2 }), { code: "ELOOP" });
});

test("the first line at or behind a place begins where one begins, or the bytes that are looked at end", async () => {
  using folder = new Folder();
  const bytes = folder.write("ä\n\nccc\nrest");
  const starts = async (limit: number): Promise<readonly unknown[]> =>
    await Promise.all(
      Array.from({ length: limit + 1 }, (_, offset) => findLineStart(folder.path, { name: NAME, bytes: limit }, offset)),
    );
  assert.deepEqual(await starts(bytes), [0, 3, 3, 3, 4, 8, 8, 8, 8, 12, 12, 12, 12]);
  assert.deepEqual(await starts(8), [0, 3, 3, 3, 4, 8, 8, 8, 8]);
  assert.deepEqual(await starts(6), [0, 3, 3, 3, 4, 6, 6]);
});

test("no line begins behind more bytes than a record may have", async () => {
  using folder = new Folder();
  const bytes = folder.write(`${"x".repeat(2 * MAX_RECORD_BYTES)}\nb\n`);
  const start = async (offset: number): Promise<number | undefined> =>
    await findLineStart(folder.path, { name: NAME, bytes }, offset);
  assert.equal(await start(1), undefined);
  assert.equal(await start(MAX_RECORD_BYTES - 1), undefined);
  assert.equal(await start(MAX_RECORD_BYTES), 2 * MAX_RECORD_BYTES + 1);
  assert.equal(await start(bytes), bytes);
});
