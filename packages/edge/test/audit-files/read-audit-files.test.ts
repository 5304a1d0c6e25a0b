import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import { readAuditFileInPlace } from "@boxmaker/edge/day-files";
import { DayFileName } from "@boxmaker/proto";

const NAME = DayFileName.parse("2026-01-05.jsonl");
const LINK = DayFileName.parse("2026-01-06.jsonl");

async function contentOf(folder: string, bytes: number, offset?: number): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of readAuditFile(folder, { name: NAME, bytes }, offset)) parts.push(Buffer.from(chunk));
  const inPlace = readAuditFileInPlace(folder, { name: NAME, bytes }, offset ?? 0, Buffer.allocUnsafe(100_000));
  const pieces: Buffer[] = [];
  for (const chunk of inPlace) pieces.push(Buffer.from(chunk));
  assert.ok(Buffer.concat(pieces).equals(Buffer.concat(parts)));
  return Buffer.concat(parts).toString();
}

test("a day file is read from an offset up to the size that it had, in pieces of any number", async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-files-"));
  try {
    const text = Array.from({ length: 100_000 }, (_, index) => String(index)).join(" ");
    writeFileSync(join(folder, NAME), text);
    assert.equal(await contentOf(folder, text.length), text);
    assert.equal(await contentOf(folder, 300_000, 20), text.slice(20, 300_000));
    assert.equal(await contentOf(folder, 20, 20), "");
    await assert.rejects(contentOf(folder, text.length + 1), /became shorter while it was read/u);
    const inPlace = readAuditFileInPlace(folder, { name: NAME, bytes: text.length + 1 }, 0, Buffer.allocUnsafe(100_000));
    assert.throws(() => [...inPlace], /became shorter while it was read/u);
    symlinkSync(join(folder, NAME), join(folder, LINK));
    assert.throws(() => [...readAuditFileInPlace(folder, { name: LINK, bytes: 1 }, 0, Buffer.allocUnsafe(1))], /ELOOP/u);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("entries are listed by name with their kind, and links aren't followed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-files-"));
  try {
    writeFileSync(join(folder, "b"), "12345");
    mkdirSync(join(folder, "a"));
    symlinkSync("/etc/passwd", join(folder, "c"));
    const entries = await readAuditEntries(folder);
    assert.deepEqual(
      entries.map(({ name, kind }) => [name, kind]),
      [
        ["a", "directory"],
        ["b", "file"],
        ["c", "link"],
      ],
    );
    assert.equal(entries[1]?.bytes, 5);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
