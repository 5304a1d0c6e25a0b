/** Every history of appends, clocks, restarts and crashes leaves a log that holds what was acknowledged, in order. */
import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type AuditRecord, sha256 } from "@boxmaker/proto";
import fc from "fast-check";
import type { AuditLog, LogMark } from "../../src/audit/audit-log.ts";
import { openAuditLog } from "../../src/audit/audit-log.ts";
import { NO_BLOBS, startedEvent, TempDirectory } from "./audit-fixture.ts";
import { judge } from "./traced-run.ts";

const DAY_MS = 86_400_000;
const START = Date.parse("2026-01-05T12:00:00.000Z");

/** What a crash leaves behind the last record: any beginning of the next one, or what else a disk may put there. */
type Tail =
  | { readonly kind: "record"; readonly bytes: number }
  | { readonly kind: "whole_record" }
  | { readonly kind: "zeros"; readonly bytes: number }
  | { readonly kind: "nothing" };

type Step =
  | { readonly kind: "append"; readonly together: number; readonly text: string }
  | { readonly kind: "clock"; readonly days: number }
  | { readonly kind: "restart"; readonly tail: Tail; readonly fromMark: boolean };

const tail: fc.Arbitrary<Tail> = fc.oneof(
  fc.record({ kind: fc.constant("nothing" as const) }),
  fc.record({ kind: fc.constant("whole_record" as const) }),
  fc.record({ kind: fc.constant("record" as const), bytes: fc.integer({ min: 1, max: 150 }) }),
  fc.record({ kind: fc.constant("zeros" as const), bytes: fc.constantFrom(1, 512, 4096) }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      together: fc.integer({ min: 1, max: 5 }),
      text: fc.string({ unit: "grapheme", maxLength: 20 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("clock" as const), days: fc.integer({ min: -2, max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart" as const), tail, fromMark: fc.boolean() }) },
);

/** brokerd's side of the log: opens it, keeps what was acknowledged, and what was handed over. */
class Life {
  readonly #home: TempDirectory;
  readonly acknowledged: AuditRecord[] = [];
  now = START;
  known: AuditRecord[] = [];
  mark: LogMark | undefined;

  constructor(home: TempDirectory) {
    this.#home = home;
  }

  async open(from: LogMark | undefined, snapshot: readonly AuditRecord[]): Promise<AuditLog> {
    this.known = from === undefined ? [] : [...snapshot];
    const opening = await openAuditLog({
      directory: this.#home.audit,
      clock: { now: () => this.now, monotonic: () => 0 },
      from,
      onRecord: (record) => this.known.push(record),
      onRestart: () => {
        this.known = [];
      },
      warn: (line) => assert.fail(line),
    });
    if (opening.kind === "refused") throw new Error(opening.problem);
    return opening.log;
  }

  async append(log: AuditLog, together: number, text: string): Promise<void> {
    const appended = Array.from({ length: together }, () => log.append(startedEvent(log.head, text), NO_BLOBS));
    for (const { record, durable } of appended) {
      await durable;
      this.acknowledged.push(record);
      this.known.push(record);
    }
  }
}

function leaveTail(home: TempDirectory, kind: Tail, mark: LogMark): void {
  const newest = readdirSync(home.audit)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .at(-1);
  if (newest === undefined) return;
  const fields = { seq: mark.seq + 1, time: "2026-01-01T00:00:00.000Z", prev: mark.head, event: startedEvent(mark.seq, "lost ü") };
  const line = Buffer.from(JSON.stringify(fields));
  const bytes = {
    nothing: Buffer.alloc(0),
    record: line.subarray(0, kind.kind === "record" ? kind.bytes : 0),
    whole_record: line,
    zeros: Buffer.alloc(kind.kind === "zeros" ? kind.bytes : 0),
  }[kind.kind];
  appendFileSync(home.file(newest), bytes);
}

function recordsOnDisk(home: TempDirectory): readonly string[] {
  return readdirSync(home.audit)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) => readFileSync(home.file(name), "utf8").split("\n").slice(0, -1));
}

test("every history leaves a whole log that holds what was acknowledged, and hands over the same from any mark", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      using home = new TempDirectory();
      const life = new Life(home);
      let log = await life.open(undefined, []);
      let files: readonly string[] = [];
      let snapshot: { readonly mark: LogMark; readonly records: readonly AuditRecord[] } | undefined;
      for (const next of steps) {
        switch (next.kind) {
          case "append":
            await life.append(log, next.together, next.text);
            break;
          case "clock":
            life.now += next.days * DAY_MS;
            break;
          case "restart": {
            const { mark } = log;
            await log[Symbol.asyncDispose]();
            leaveTail(home, next.tail, mark);
            const from = next.fromMark ? snapshot : undefined;
            log = await life.open(from?.mark, from?.records ?? []);
            snapshot = { mark: log.mark, records: [...life.known] };
            break;
          }
          default:
            throw new Error(next satisfies never);
        }
        const now = readdirSync(home.audit)
          .filter((name) => name.endsWith(".jsonl"))
          .sort();
        assert.deepEqual(now.slice(0, files.length), files, "a file is only ever added, and behind the others");
        files = now;
      }
      const { mark } = log;
      await log[Symbol.asyncDispose]();
      const end = await judge(home);
      assert(end.kind === "whole");
      assert.deepEqual({ seq: end.head.seq, head: end.head.sha256 }, mark);
      const lines = recordsOnDisk(home);
      const held = lines.filter((line) => life.known.some((record) => JSON.stringify(record) === line));
      assert.equal(held.length, life.known.length);
      assert.equal(life.known.length, mark.seq);
      for (const record of life.acknowledged)
        assert.ok(life.known.some(({ seq, prev }) => seq === record.seq && prev === record.prev));
      if (lines.length > 0) assert.equal(mark.head, sha256(lines.at(-1) ?? ""));
    }),
    { numRuns: 40 },
  );
});
