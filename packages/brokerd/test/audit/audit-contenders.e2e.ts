/** Several writers that start at the same moment on one log, again and again: one at a time gets it, and nothing is lost between them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { openLog, TempDirectory } from "./audit-fixture.ts";
import { checkAnswers, judge, WRITER_PROGRAM } from "./traced-run.ts";

const CONTENDERS = 4;
const ROUNDS = 3;
const APPENDS = 12;

async function contend(home: TempDirectory): Promise<readonly string[]> {
  const writer = spawn(process.execPath, [WRITER_PROGRAM, home.audit, "0", String(APPENDS), "plain"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(writer, "exit");
  const said = await text(writer.stdout);
  await ended;
  return said.split("\n").slice(0, -1);
}

test("of writers that start at once each gets the whole log or none of it", async () => {
  using home = new TempDirectory();
  const acknowledged: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const lines of await Promise.all(Array.from({ length: CONTENDERS }, async () => await contend(home)))) {
      if (lines[0]?.startsWith("refused") === true) {
        assert.equal(lines.length, 1);
        assert.match(lines[0], /^refused the audit log in ".+" is held by another brokerd, .+#audit-locked$/u);
        continue;
      }
      const durable = checkAnswers({ lines });
      assert.equal(durable.length, APPENDS);
      assert.deepEqual(
        durable,
        Array.from({ length: APPENDS }, (_, index) => (durable[0] ?? 0) + index),
        "nobody else wrote in between",
      );
      acknowledged.push(...durable);
    }
  }
  assert.ok(acknowledged.length >= ROUNDS * APPENDS);
  assert.equal(new Set(acknowledged).size, acknowledged.length);
  assert.equal((await judge(home)).kind, "whole");
  await using opened = await openLog(home.audit);
  assert.deepEqual(
    opened.records.map(({ seq }) => Number(seq)),
    acknowledged.toSorted((a, b) => a - b),
  );
});
