import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AuditChain,
  type ChainBreak,
  type ChainEnd,
  DayFileName,
  Hash32,
  type OnRecord,
  phraseBreak,
  readLog,
  ZERO_HASH,
} from "@boxmaker/proto";
import fc from "fast-check";
import { DAMAGED_LOGS } from "./damaged-logs.ts";
import { decision, LogBuilder, type LogFiles, linesOf, result, soundLog, started, stopped } from "./log-builder.ts";
import { chunksOf, readMemory } from "./read-memory.ts";

for (const { name, files, verdict } of DAMAGED_LOGS) {
  test(`the chain judges ${name}`, async () => {
    const { end, records } = await readMemory(files);
    switch (verdict.kind) {
      case "broken": {
        assert.equal(end.kind, "broken");
        assert(end.kind === "broken");
        const { file, line, lastGood, found } = end.at;
        assert.deepEqual({ file, line, lastGood }, { file: verdict.file, line: verdict.line, lastGood: verdict.lastGood }, found);
        assert.match(found, verdict.found);
        assert.equal(records.length, verdict.records);
        break;
      }
      case "whole":
        assert.equal(end.kind, "whole", end.kind === "broken" ? phraseBreak(end.at) : "");
        assert(end.kind === "whole");
        assert.deepEqual([records.length, end.head.seq], [verdict.records, verdict.head]);
        break;
      case "torn":
        assert.equal(end.kind, "torn", end.kind === "broken" ? phraseBreak(end.at) : "");
        assert(end.kind === "torn");
        assert.deepEqual([records.length, end.head.seq], [verdict.records, verdict.head]);
        assert.equal(end.lines.length, verdict.lines);
        break;
    }
  });
}

test("a chain's records and judgement are the same in chunks of any size", async () => {
  for (const { files } of DAMAGED_LOGS.filter(({ name }) => !name.includes("megabytes"))) {
    const whole = await readMemory(files);
    for (const size of [1, 7, 100]) assert.deepEqual(await readMemory(files, size), whole);
  }
});

test("a sound log's head is the seq, hash and time of its last record", async () => {
  const log = soundLog();
  const { end } = await readMemory(log.build());
  assert.deepEqual(end, { kind: "whole", head: { seq: 11, sha256: log.prev, time: "2026-01-08T08:00:00.000Z" } });
});

test("a break is one printable line that names place, expectation, finding and the last good record", async () => {
  const log = new LogBuilder().add(started(0));
  const { end } = await readMemory(log.raw(`${log.line(stopped(), { seq: 9 })}\n`).build());
  assert(end.kind === "broken");
  assert.match(
    phraseBreak(end.at),
    /^"2026-01-05\.jsonl" line 2 \(offset \d+\): expected seq 2, found seq 9; the last good record is seq 1$/u,
  );
});

test("what a break says of a hostile line is escaped", async () => {
  const log = new LogBuilder().add(started(0));
  const line = log.line({ kind: "recovery", file: "\u001b[2Jx\n", offset: 1, bytes: 1, sha256: "0".repeat(64) });
  const { end } = await readMemory(log.raw(`${line}\n`).build());
  assert(end.kind === "broken");
  assert.match(end.at.found, /\\u001b\[2Jx\\u000a/u);
  assert.doesNotMatch(phraseBreak(end.at), /\p{C}/u);
});

test("a log cut at any byte is whole or torn, with every record before the cut", async () => {
  const log = new LogBuilder().add(started(0), decision(1, "allowed", "/srv/notes/日本-🗒"), result(2, 1), stopped());
  const bytes = log.build().get("2026-01-05.jsonl");
  assert(bytes !== undefined);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const kept = bytes.subarray(0, cut);
    const whole = kept.toString("latin1").split("\n").length - 1;
    const { end, records } = await readMemory(new Map([["2026-01-05.jsonl", kept]]));
    assert.equal(end.kind, cut === 0 || kept.at(-1) === 0x0a ? "whole" : "torn", `cut at ${cut}`);
    assert.equal(records.length, whole);
  }
});

test("files out of order and lines without a file are a mistake of the caller", () => {
  const chain = new AuditChain(() => {});
  const line = { bytes: 0, sha256: ZERO_HASH, content: new Uint8Array(0), ended: true };
  assert.throws(() => chain.feed(line), RangeError);
  chain.beginFile(DayFileName.parse("2026-01-05.jsonl"));
  assert.throws(() => chain.beginFile(DayFileName.parse("2026-01-05.jsonl")), RangeError);
  assert.throws(() => chain.beginFile(DayFileName.parse("2026-01-04.jsonl")), RangeError);
});

test("a broken chain stays broken at the same place, whatever follows but its acceptance", () => {
  const chain = new AuditChain(() => assert.fail("a record without a chain"));
  chain.beginFile(DayFileName.parse("2026-01-05.jsonl"));
  const feed = (text: string): void =>
    chain.feed({ bytes: text.length, sha256: ZERO_HASH, content: Buffer.from(text), ended: true });
  const place = (): ChainBreak | undefined => {
    const end = chain.end();
    return end.kind === "broken" ? end.at : undefined;
  };
  feed("nothing");
  feed("nothing");
  const first = place();
  assert.equal(first?.line, 1);
  feed(new LogBuilder().line(started(0)));
  assert.deepEqual(place(), first);
});

const eventMaker = fc.constantFrom<(seq: number) => object>(
  (seq) => started(seq - 1),
  (seq) => decision(seq, "allowed"),
  (seq) => decision(seq, "ask", `/srv/${"ü".repeat(seq % 5)}x`),
  (seq) => decision(seq, "denied"),
  (seq) => result(Math.max(1, seq - 1), seq),
  () => stopped(),
);

function history(makers: readonly ((seq: number) => object)[], dayEvery: number): LogFiles {
  const log = new LogBuilder();
  makers.forEach((make, index) => {
    if (index > 0 && index % dayEvery === 0) log.day(`2026-01-${String(6 + Math.floor(index / dayEvery)).padStart(2, "0")}`);
    log.add(make(log.seq + 1));
  });
  return log.build();
}

const histories = fc
  .tuple(fc.array(eventMaker, { minLength: 2, maxLength: 12 }), fc.integer({ min: 1, max: 20 }))
  .map(([makers, dayEvery]) => history(makers, dayEvery));

test("every history that was written by the rules is whole, and its records are those that were written", async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (files) => {
      const { end, records } = await readMemory(files);
      assert.equal(end.kind, "whole");
      const written = [...files.keys()].sort().flatMap((name) => linesOf(files, name));
      assert.deepEqual(
        records.map((record) => JSON.stringify(record)),
        written,
      );
    }),
    { numRuns: 60 },
  );
});

test("any change of one byte breaks the log, tears its last line, or changes the hash of its head", async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(), fc.integer({ min: 1, max: 255 }), async (files, where, flip) => {
      const before = await readMemory(files);
      const names = [...files.keys()].sort();
      const name = names[where % names.length] ?? "";
      const bytes = Buffer.from(files.get(name) ?? "");
      const at = where % bytes.length;
      bytes.writeUInt8(bytes.readUInt8(at) ^ flip, at);
      const after = await readMemory(new Map([...files, [name, bytes]]));
      assert(before.end.kind === "whole");
      if (after.end.kind === "broken") return;
      // Only the very last line can change unnoticed by the chain, and then the head's hash tells.
      assert.equal(name, names.at(-1));
      const lastTwoLines = linesOf(files, name).slice(0, -2).join("\n").length;
      assert(at >= lastTwoLines);
      if (after.end.kind === "whole") assert.notEqual(after.end.head.sha256, before.end.head.sha256);
    }),
    { numRuns: 300 },
  );
});

test("random bytes never crash the chain, alone or after a sound log", async () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(fc.oneof(fc.json(), fc.constantFrom("", "{", '{"seq":12,', "\0\0", "\r")), { maxLength: 6 })
      .map((lines) => Buffer.from(lines.join("\n"))),
  );
  const sound = soundLog().build();
  await fc.assert(
    fc.asyncProperty(noise, fc.boolean(), async (bytes, isAfterSound) => {
      const last = Buffer.concat([sound.get("2026-01-08.jsonl") ?? Buffer.alloc(0), bytes]);
      const files = isAfterSound ? new Map([...sound, ["2026-01-08.jsonl", last]]) : new Map([["2026-01-05.jsonl", bytes]]);
      const { end, records } = await readMemory(files, 64);
      const head = end.kind === "broken" ? end.at.lastGood : end.head.seq;
      assert.equal(records.length, head);
      assert.equal(head, isAfterSound ? 11 : 0);
    }),
    { numRuns: 300 },
  );
});

test("a chain that is taken up in the middle goes on from there, and can't tell how to accept a break", async () => {
  const log = new LogBuilder().add(started(0), decision(1, "allowed"));
  const [offset, after] = [log.offset, { seq: log.seq, sha256: Hash32.parse(log.prev), time: null }];
  log.add(result(2, 1), stopped());
  const rest = log.build().get("2026-01-05.jsonl")?.subarray(offset) ?? Buffer.alloc(0);
  const name = DayFileName.parse("2026-01-05.jsonl");
  const read = async (bytes: Buffer): Promise<{ end: ChainEnd; seqs: readonly number[]; offsets: readonly number[] }> => {
    const seqs: number[] = [];
    const offsets: number[] = [];
    const onRecord: OnRecord = (record, place) => {
      seqs.push(record.seq);
      offsets.push(place.offset);
    };
    const end = await readLog([{ name, offset, chunks: chunksOf(bytes, 10) }], new AuditChain(onRecord, { after }));
    return { end, seqs, offsets };
  };
  const { end, seqs, offsets } = await read(rest);
  assert.deepEqual(end, { kind: "whole", head: { seq: 4, sha256: log.prev, time: "2026-01-05T08:00:00.000Z" } });
  assert.deepEqual(
    [seqs, offsets],
    [
      [3, 4],
      [offset, offset + rest.indexOf("\n") + 1],
    ],
  );
  const { end: broken } = await read(Buffer.concat([Buffer.from("nonsense\n"), rest]));
  assert(broken.kind === "broken");
  assert.deepEqual([broken.at.lastGood, broken.acceptance], [2, undefined]);
});
