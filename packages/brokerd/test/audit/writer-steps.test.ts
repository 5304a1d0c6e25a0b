/** The writer's single steps, seen from what lies on the disk and from what it tells. */
import assert from "node:assert/strict";
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type AuditRecord, DayFileName, sha256, ZERO_HASH } from "@boxmaker/proto";
import type { LastLine } from "@boxmaker/proto/transparency";
import { AuditStoppedError } from "../../src/audit/audit-stopped-error.ts";
import { AuditLog, type AuditLogParts } from "../../src/audit/audit-writer.ts";
import { BlobStore } from "../../src/audit/blob-store.ts";
import { DayFile } from "../../src/audit/day-file.ts";
import { SyncPace } from "../../src/audit/sync-pace.ts";
import { DAY, FakeClock, NO_BLOBS, openLog, sessionEvent, startedEvent, TempDirectory } from "./audit-fixture.ts";

interface Told {
  readonly record: AuditRecord;
  readonly line: string;
  readonly place: LastLine;
}

/** An empty log that is made of its parts, with whatever stands for the locked directory. */
class Writer implements AsyncDisposable {
  readonly log: AuditLog;
  readonly told: Told[] = [];
  readonly warnings: string[] = [];

  private constructor(parts: Omit<AuditLogParts, "warn" | "onDurable">) {
    this.log = new AuditLog({
      ...parts,
      warn: (line) => this.warnings.push(line),
      onDurable: (record, line, place) => this.told.push({ record, line, place }),
    });
  }

  static async make(
    home: TempDirectory,
    { clock = new FakeClock(), pace = new SyncPace(), locked = home.audit, file }: Options = {},
  ): Promise<Writer> {
    mkdirSync(home.audit, { recursive: true, mode: 0o700 });
    const descriptor = openSync(locked, "r");
    return new Writer({
      directory: home.audit,
      clock,
      pace,
      lock: { descriptor, [Symbol.dispose]: () => closeSync(descriptor) },
      blobs: await BlobStore.open(home.audit, "blobs"),
      grants: await BlobStore.open(home.audit, "grants"),
      head: { seq: 0, sha256: ZERO_HASH, time: null },
      file,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.log[Symbol.asyncDispose]();
  }
}

/** Counts the calls of a day file's method, where something may be done first, and leaves the method as it was. */
class Calls implements Disposable {
  readonly #method: "append" | "sync" | "syncInPlace";
  readonly #original: (...values: never[]) => unknown;
  count = 0;

  constructor(method: "append" | "sync" | "syncInPlace", instead?: () => void) {
    this.#method = method;
    const original = DayFile.prototype[method];
    this.#original = original;
    const counted = (): void => void this.count++;
    Object.assign(DayFile.prototype, {
      [method](this: DayFile, ...values: readonly unknown[]): unknown {
        counted();
        instead?.();
        return Reflect.apply(original, this, values);
      },
    });
  }

  [Symbol.dispose](): void {
    Object.assign(DayFile.prototype, { [this.#method]: this.#original });
  }
}

interface Options {
  readonly clock?: FakeClock;
  readonly pace?: SyncPace;
  readonly locked?: string;
  readonly file?: DayFile | undefined;
}

test("each record is told once it is on the disk, with the place of its line, over batches and days", async () => {
  using home = new TempDirectory();
  const clock = new FakeClock();
  await using writer = await Writer.make(home, { clock });
  await writer.log.append(startedEvent(0, "é"), NO_BLOBS).durable;
  const batch = [writer.log.append(sessionEvent("a"), NO_BLOBS), writer.log.append(startedEvent(2, "naïve"), NO_BLOBS)];
  clock.text = "2026-01-06T00:00:00.000Z";
  batch.push(writer.log.append(startedEvent(3), NO_BLOBS), writer.log.append(sessionEvent("b"), NO_BLOBS));
  await Promise.all(batch.map(({ durable }) => durable));
  assert.deepEqual(
    writer.told.map(({ record, place }) => [record.seq, place.file]),
    [
      [1, DAY],
      [2, DAY],
      [3, DAY],
      [4, "2026-01-06.jsonl"],
      [5, "2026-01-06.jsonl"],
    ],
  );
  for (const { record, line, place } of writer.told) {
    const file = readFileSync(join(home.audit, place.file));
    assert.equal(file.subarray(place.offset, place.offset + place.bytes).toString(), line);
    assert.equal(file[place.offset + place.bytes], 0x0a);
    assert.deepEqual(JSON.parse(line), record);
  }
});

test("a record in a new day's file isn't durable before the directory is, and the log stops where that fails", async () => {
  using home = new TempDirectory();
  // The kernel syncs no device that keeps nothing.
  await using writer = await Writer.make(home, { locked: "/dev/null" });
  const { durable } = writer.log.append(startedEvent(0), NO_BLOBS);
  await assert.rejects(durable, (error) => {
    assert.ok(error instanceof AuditStoppedError && error.cause instanceof Error);
    assert.match(
      error.message,
      /^audit log in ".*" stopped: .*; nothing runs until brokerd is started again; see docs\/runbook\.md#/u,
    );
    assert.ok("code" in error.cause && error.cause.code === "EINVAL");
    assert.deepEqual(writer.warnings, [error.message]);
    return true;
  });
  assert.deepEqual([writer.log.stopped, writer.told], [true, []]);
  assert.throws(() => writer.log.append(startedEvent(1), NO_BLOBS), AuditStoppedError);
});

test("nobody has to wait for what is appended: where the log stops, that is told and ends nothing else", async () => {
  using home = new TempDirectory();
  const writer = await Writer.make(home, { locked: "/dev/null" });
  const strays: unknown[] = [];
  const keep = (reason: unknown): void => void strays.push(reason);
  process.on("unhandledRejection", keep);
  try {
    writer.log.append(startedEvent(0), NO_BLOBS);
    await writer[Symbol.asyncDispose]();
    // Rejections that nobody has taken are told in the turn after.
    await new Promise(setImmediate);
  } finally {
    process.off("unhandledRejection", keep);
  }
  assert.deepEqual([strays, writer.warnings.length], [[], 1]);
});

test("a record in a file that was there already needs no sync of the directory", async () => {
  using home = new TempDirectory();
  {
    await using opened = await openLog(home.audit);
    await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  }
  const name = DayFileName.parse(DAY);
  const bytes = statSync(join(home.audit, DAY)).size;
  const file = DayFile.openRead(home.audit, name, bytes);
  await using writer = await Writer.make(home, { locked: "/dev/null", file });
  await writer.log.append(startedEvent(1), NO_BLOBS).durable;
  assert.deepEqual([writer.told.length, writer.told[0]?.place.offset, writer.log.stopped], [1, bytes, false]);
});

test("what is appended while a batch is being written waits for it", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home);
  const text = "x".repeat(16 * 1024 * 1024);
  const first = writer.log.append(startedEvent(0), new Map([[sha256(text), text]]));
  // The first batch has begun, and is busy with its blob.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const second = writer.log.append(startedEvent(1), NO_BLOBS);
  const ended: string[] = [];
  await Promise.all([first.durable.then(() => ended.push("first")), second.durable.then(() => ended.push("second"))]);
  assert.deepEqual(ended, ["first", "second"]);
  assert.deepEqual(
    home
      .text(DAY)
      .trimEnd()
      .split("\n")
      .map((line) => line.startsWith('{"seq":1,')),
    [true, false],
  );
});

test("a lone record is written at once, together with the others of its step", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home);
  using writes = new Calls("append");
  for (const step of [1, 2]) {
    const appended = Array.from({ length: step }, () => writer.log.append(startedEvent(0), NO_BLOBS));
    assert.equal(writes.count, step - 1);
    // Before anything else gets its turn.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.equal(writes.count, step);
    await Promise.all(appended.map(({ durable }) => durable));
  }
  assert.equal(writes.count, 2);
});

test("where several callers are at work, records of one turn of the event loop share one sync", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home);
  using syncs = new Calls("sync");
  const appendInTurn = async (): Promise<void> => {
    await new Promise(setImmediate);
    await writer.log.append(startedEvent(0), NO_BLOBS).durable;
  };
  await Promise.all([writer.log.append(startedEvent(0), NO_BLOBS).durable, writer.log.append(startedEvent(0), NO_BLOBS).durable]);
  assert.equal(syncs.count, 1);
  await Promise.all([appendInTurn(), appendInTurn(), appendInTurn()]);
  assert.equal(syncs.count, 2);
  assert.deepEqual(
    writer.told.map(({ record }) => Number(record.seq)),
    [1, 2, 3, 4, 5],
  );
});

test("a record that comes alone is synced on the spot where the disk is quick, once in a turn of the event loop", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home, { pace: new SyncPace(0) });
  using places = new Calls("syncInPlace");
  using threads = new Calls("sync");
  // A new file needs the directory's sync, too.
  await writer.log.append(startedEvent(0), NO_BLOBS).durable;
  assert.deepEqual([places.count, threads.count], [0, 1]);
  await writer.log.append(startedEvent(1), NO_BLOBS).durable;
  assert.deepEqual([places.count, threads.count], [1, 1]);
  // What comes later in this turn waits for its end, and is written together.
  const later = [writer.log.append(startedEvent(2), NO_BLOBS)];
  await Promise.resolve();
  later.push(writer.log.append(startedEvent(3), NO_BLOBS));
  await Promise.all(later.map(({ durable }) => durable));
  assert.deepEqual([places.count, threads.count], [1, 2]);
  await new Promise(setImmediate);
  await writer.log.append(startedEvent(4), new Map([[sha256("text"), "text"]])).durable;
  assert.deepEqual([places.count, threads.count], [1, 3]);
  assert.deepEqual(
    writer.told.map(({ record, place }) => [Number(record.seq), place.offset]),
    home
      .text(DAY)
      .trimEnd()
      .split("\n")
      .map((_line, index, lines) => [index + 1, lines.slice(0, index).join("\n").length + Math.min(index, 1)]),
  );
});

test("after a slow sync on the spot, a thread has to see quick ones before the next", async () => {
  using home = new TempDirectory();
  const clock = new FakeClock();
  await using writer = await Writer.make(home, { clock, pace: new SyncPace(0) });
  await writer.log.append(startedEvent(0), NO_BLOBS).durable;
  using places = new Calls("syncInPlace", () => {
    clock.elapsed += 2;
  });
  using threads = new Calls("sync");
  for (let index = 1; index <= 10; index++) await writer.log.append(startedEvent(index), NO_BLOBS).durable;
  assert.deepEqual([places.count, threads.count], [2, 8]);
});

test("once the loop is to be kept free, a thread waits for every sync, however quick the disk is", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home, { pace: new SyncPace(0) });
  await writer.log.append(startedEvent(0), NO_BLOBS).durable;
  using places = new Calls("syncInPlace");
  using threads = new Calls("sync");
  await writer.log.append(startedEvent(1), NO_BLOBS).durable;
  writer.log.keepLoopFree();
  for (const index of [2, 3]) {
    await new Promise(setImmediate);
    await writer.log.append(startedEvent(index), NO_BLOBS).durable;
  }
  assert.deepEqual([places.count, threads.count], [1, 2]);
});

test("a sync that fails on the spot stops the log, as any other does", async () => {
  using home = new TempDirectory();
  await using writer = await Writer.make(home, { pace: new SyncPace(0) });
  await writer.log.append(startedEvent(0), NO_BLOBS).durable;
  const cause = new Error("EIO: i/o error, fdatasync");
  using _failing = new Calls("syncInPlace", () => {
    throw cause;
  });
  const first = writer.log.append(startedEvent(1), NO_BLOBS);
  await assert.rejects(first.durable, (error) => error instanceof AuditStoppedError && error.cause === cause);
  assert.deepEqual([writer.log.stopped, writer.told.length], [true, 1]);
  assert.throws(() => writer.log.append(startedEvent(2), NO_BLOBS), AuditStoppedError);
});

test("a closed log and a blob that isn't what its hash says are refused by name", async () => {
  using home = new TempDirectory();
  const writer = await Writer.make(home);
  const wrong = new Map([[ZERO_HASH, "text"]]);
  assert.throws(() => writer.log.append(startedEvent(0), wrong), new RangeError("expected each blob under the hash of its text"));
  await writer[Symbol.asyncDispose]();
  assert.throws(
    () => writer.log.append(startedEvent(0), NO_BLOBS),
    new AuditStoppedError("the audit log is closed; see docs/runbook.md#audit-unavailable"),
  );
});
