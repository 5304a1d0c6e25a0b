/** Threads that wait for a log before it is known what to do with it. */
import assert from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import { listLog } from "@boxmaker/proto";
import { MIN_PARALLEL_BYTES, StretchThreads } from "../../src/audit/stretch-threads.ts";
import { verifyFiles } from "../../src/audit/verify-files.ts";
import { AuditFolder, decided, opened, STARTED } from "../support/audit-folder.ts";

test("a log that is worth them gets a thread for each further processor; a short one and one that can't be listed get none", async () => {
  using log = new AuditFolder();
  const file = join(log.path, "2026-01-05.jsonl");
  writeFileSync(file, "");
  const sizes: number[] = [];
  for (const bytes of [MIN_PARALLEL_BYTES - 1, MIN_PARALLEL_BYTES]) {
    truncateSync(file, bytes);
    await using threads = await StretchThreads.startFor(log.path);
    sizes.push(threads.size);
  }
  assert.deepEqual(sizes, [0, availableParallelism() - 1]);
  await using none = await StretchThreads.startFor(join(log.path, "missing"));
  assert.equal(none.size, 0);
});

test("threads that were started beforehand come to the judgement of one reading in turn", async () => {
  using log = new AuditFolder();
  log.add(STARTED, opened("s"), decided("s", 1, "ask")).day("2026-01-06");
  log.add(decided("s", 2, "allowed"), decided("s", 3, "denied"));
  const listing = listLog(await readAuditEntries(log.path));
  assert.ok(listing.kind === "log");
  await using threads = StretchThreads.start(2);
  const sideBySide = await verifyFiles(log.path, listing.files, { started: threads, minParallelBytes: 0, stretchBytes: 300 });
  assert.deepEqual(sideBySide, await verifyFiles(log.path, listing.files, { threads: 1 }));
});

test("threads that nobody gives work to end when they are disposed of", async () => {
  const threads = StretchThreads.start(1);
  await threads[Symbol.asyncDispose]();
  const ended = threads.work(
    {
      directory: "/nowhere",
      stretches: [],
      taken: new Int32Array(new SharedArrayBuffer(4)),
      treeSize: 0,
      pattern: /x/u,
    },
    () => assert.fail(),
  );
  assert.equal(await ended, undefined);
});
