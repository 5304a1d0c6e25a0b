/** T6, and the log decided again under other grants. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AbsPath, AuditRecord } from "@boxmaker/proto";
import fc from "fast-check";
import { decisionAt, explain, replay } from "../../src/analysis/index.ts";
import { setFromTexts } from "../../src/grants/index.ts";
import { callOf, grantText, setOf } from "./support.ts";
import { TestLog } from "./test-log.ts";

const GRANTS = {
  notes: grantText("read_file", "auto", ["/srv/notes"]),
  keys: grantText("read_file", "auto", ["/srv/keys"], 'label = "secret"'),
  drafts: grantText("write_file", "auto", ["/srv/drafts"]),
  read: grantText("read_file", "auto", ["/srv/drafts"]),
  build: grantText("shell", "ask", ["/srv/work"]),
  web: grantText("http_fetch", "auto", ["example.com"], "uses = 3"),
};

const CALLS = [
  callOf("read_file", { path: "/srv/notes/a" }),
  callOf("read_file", { path: "/srv/keys/a" }),
  callOf("read_file", { path: "/srv/drafts/a" }),
  callOf("write_file", { path: "/srv/drafts/a", content: "x" }),
  callOf("shell", { command: "make", cwd: "/srv/work" }),
  callOf("http_fetch", { url: "https://example.com/" }),
  callOf("http_fetch", { url: "https://elsewhere.example/" }),
];

function someLog(calls: readonly (typeof CALLS)[number][] = CALLS): TestLog {
  const log = new TestLog();
  log.use(setOf(GRANTS));
  log.open("chat-1");
  for (const call of calls) log.decide("chat-1", call);
  return log;
}

/** A decision with something else in its record. */
function tamper(record: AuditRecord, change: Readonly<Record<string, unknown>>): AuditRecord {
  return AuditRecord.parse({ ...record, event: { ...record.event, ...change } });
}

describe("replay()", () => {
  test("T6: any log, decided again from its own inputs, gives the same outcomes", () => {
    const step = fc.record({
      session: fc.constantFrom("chat-1", "chat-2", "mm-3"),
      call: fc.constantFrom(...CALLS),
      approves: fc.boolean(),
    });
    const change = fc.constantFrom<keyof typeof GRANTS | null>(null, null, null, "web", "drafts", "build");
    fc.assert(
      fc.property(fc.array(fc.tuple(step, change), { maxLength: 30 }), (steps) => {
        const log = new TestLog();
        log.use(setOf(GRANTS));
        log.open("chat-1");
        log.open("chat-2", { ceiling: "private" });
        log.open("mm-3", { origin: "gateway", ceiling: "public" });
        for (const [{ session, call, approves }, without] of steps) {
          if (without !== null) log.use(setOf(Object.fromEntries(Object.entries(GRANTS).filter(([id]) => id !== without))));
          const { seq, verdict } = log.decide(session, call);
          if (verdict.kind === "ask" && approves) log.approve(seq);
        }
        // An approval that would run something else than what was asked about has no outcome of its own.
        const answers = log.records.filter(({ event }) => event.kind === "approval" && event.outcome !== "changed").length;
        const { decided, same, changed, skipped } = replay(log.records, log.sources);
        const all = steps.length + answers;
        assert.deepEqual([decided, same, changed, skipped], [all, all, [], []]);
      }),
      { numRuns: 150 },
    );
  });

  test("T6: finds each approval whose outcome isn't what its inputs give", () => {
    const log = new TestLog();
    log.use(setOf(GRANTS));
    log.open("chat-1");
    log.approve(log.decide("chat-1", callOf("shell", { command: "make", cwd: "/srv/work" })).seq);
    const last = log.records.at(-1);
    assert.ok(last !== undefined && last.event.kind === "approval" && last.event.outcome === "ask");
    const changes = {
      outcome: { outcome: "allowed" },
      reason: { denial: "taint" },
      grant: { grant: "other" },
      raises: { raises: { taint: "public", untrusted: false } },
      spends: { spends: "build" },
      digest: { digest: "0".repeat(64) },
    };
    for (const [field, change] of Object.entries(changes)) {
      const records: readonly AuditRecord[] = [...log.records.slice(0, -1), tamper(last, change)];
      assert.deepEqual(
        replay(records, log.sources).changed.map(({ seq, fields }) => ({ seq, fields })),
        [{ seq: last.seq, fields: [field] }],
      );
    }
    const elsewhere = { ...last.event.run, mounts: [] };
    const [found] = replay([...log.records.slice(0, -1), tamper(last, { run: elsewhere })], log.sources).changed;
    assert.deepEqual(found?.fields, ["run"]);
    assert.equal(
      replay(log.records, log.sources, { with: setOf({}) }).decided,
      1,
      "under other grants only what was asked is tried",
    );
  });

  test("T6: finds each record whose outcome isn't what its inputs give", () => {
    const { records, sources } = someLog([...CALLS.slice(5), ...CALLS]);
    const changes = [
      { outcome: "allowed", reason: null },
      { before: { taint: "public", untrusted: false } },
      { uses_left: [{ grant: "web", left: 0 }] },
      { raises: { taint: "public", untrusted: false } },
      { spends: "web" },
      { label: { taint: "public", untrusted: false } },
      { matched: [] },
      { grant: "other" },
    ];
    for (const change of changes) {
      const found = records.some((record, index) => {
        if (record.event.kind !== "decision") return false;
        const bad = tamper(record, change);
        if (JSON.stringify(bad) === JSON.stringify(record)) return false;
        return replay(records.with(index, bad), sources).changed.some(({ seq }) => seq === record.seq);
      });
      assert.ok(found, JSON.stringify(change));
    }
  });

  test("skips what isn't a matter of grants, what another version decided, and what has lost a text, and says so", () => {
    const { records, sources } = someLog();
    const decisions = records.filter(({ event }) => event.kind === "decision");
    const [first, second] = decisions;
    assert.ok(first !== undefined && second !== undefined);
    const odd = records.map((record) => {
      if (record === first) return tamper(record, { outcome: "denied", reason: "throttled", raises: null, run: null });
      return record === second ? tamper(record, { policy_version: 99 }) : record;
    });
    assert.deepEqual(replay(odd, sources).skipped, [
      { seq: first.seq, why: "not_policy" },
      { seq: second.seq, why: "policy_version" },
    ]);
    const lost = replay(records, { ...sources, setOf: () => undefined });
    assert.deepEqual([lost.decided, new Set(lost.skipped.map(({ why }) => why))], [0, new Set(["text_missing"])]);
  });

  test("says under other grants which calls get more, and which less", () => {
    const { records, sources } = someLog();
    const other = setOf({
      ...GRANTS,
      notes: grantText("read_file", "deny", ["/srv/notes"]),
      build: grantText("shell", "auto", ["/srv/work"], 'max_taint = "secret"', 'if_untrusted = "auto"'),
    });
    const { changed, decided, same } = replay(records, sources, { with: other });
    assert.deepEqual(
      changed.map(({ tool, target, before, after, wider }) => [`${tool} ${target}`, before.outcome, after.outcome, wider]),
      [
        ["read_file /srv/notes/a", "allowed", "denied", false],
        ["shell make in /srv/work", "denied", "allowed", true],
      ],
    );
    assert.equal(decided, same + 2);
  });

  test("takes only decisions from a time on, with the state that earlier ones left", () => {
    const { records, sources } = someLog();
    const third = records.filter(({ event }) => event.kind === "decision")[2];
    assert.ok(third !== undefined);
    const { decided, same } = replay(records, sources, { since: third.time });
    assert.deepEqual([decided, same], [CALLS.length - 2, CALLS.length - 2]);
  });

  test("counts uses and path labels of the log where grants that it never saw ask for them", () => {
    const log = new TestLog();
    log.use(setOf(GRANTS));
    log.open("chat-1");
    log.decide("chat-1", callOf("read_file", { path: "/srv/keys/a" }));
    log.use(setOf({ ...GRANTS, drafts: grantText("write_file", "auto", ["/srv/drafts"], 'max_taint = "secret"') }));
    log.decide("chat-1", callOf("write_file", { path: "/srv/drafts/a", content: "x" }));
    log.open("chat-2", { ceiling: "private" });
    log.decide("chat-2", callOf("http_fetch", { url: "https://example.com/" }));
    const { seq } = log.decide("chat-2", callOf("shell", { command: "ls", cwd: "/srv/drafts" }));
    const other = setOf({ sh: grantText("shell", "auto", ["/srv/drafts"], 'if_untrusted = "auto"', 'max_taint = "secret"') });
    const changed = replay(log.records, log.sources, { with: other }).changed.find((each) => each.seq === seq);
    assert.deepEqual([changed?.before.reason, changed?.after.reason], ["no_grant", "audience"]);
  });
});

describe("replay(), with grants of sessions,", () => {
  test("decides each session by its own, though together they would make no valid set", () => {
    const log = new TestLog();
    log.use(setOf({}));
    log.open("chat-1");
    log.open("chat-2");
    log.allow("chat-1", "session-1", `id = "session-1"\n${grantText("shell", "auto", ["/srv/work"], 'session = "chat-1"')}`);
    log.allow(
      "chat-2",
      "session-2",
      `id = "session-2"\n${grantText("read_file", "auto", ["/srv/work/src"], 'session = "chat-2"')}`,
    );
    const ran = [
      log.decide("chat-1", callOf("shell", { command: "make", cwd: "/srv/work" })),
      log.decide("chat-2", callOf("read_file", { path: "/srv/work/src/a" })),
      log.decide("chat-2", callOf("shell", { command: "make", cwd: "/srv/work" })),
    ].map(({ verdict }) => verdict.kind);
    assert.deepEqual(ran, ["allowed", "allowed", "denied"]);
    const { decided, same, skipped } = replay(log.records, log.sources);
    assert.deepEqual([decided, same, skipped], [3, 3, []]);
  });

  test("lets a call come to no place that was reserved when it was decided, by other grants either", () => {
    const tools = { file: "etc/tools.toml", text: '[read_file]\notherwise = "ask"\n' };
    const set = setFromTexts([tools], []);
    assert.ok(set.kind === "valid");
    const storage = AbsPath.parse("/home/me/containers");
    const inStorage = callOf("read_file", { path: `${storage}/overlay/x` });
    const log = new TestLog();
    log.start(storage);
    log.use(set);
    log.open("chat-1");
    const { verdict, seq } = log.decide("chat-1", inStorage);
    assert.ok(verdict.kind === "denied" && verdict.reason === "no_grant");
    log.start();
    assert.equal(log.decide("chat-1", inStorage).verdict.kind, "ask");
    assert.deepEqual(replay(log.records, log.sources), { decided: 2, same: 2, changed: [], skipped: [] });
    assert.deepEqual(replay(log.records, log.sources, { with: set }), { decided: 2, same: 2, changed: [], skipped: [] });
    const situation = decisionAt(log.records, log.sources, seq)?.situation;
    assert.ok(situation !== null && situation !== undefined);
    assert.equal(explain(situation).outcome, "denied");
  });

  test("decides by a session's grant only until it has ended", () => {
    const log = new TestLog();
    log.use(setOf({}));
    log.open("chat-1");
    log.allow("chat-1", "session-1", `id = "session-1"\n${grantText("read_file", "auto", ["/srv/work"], 'session = "chat-1"')}`);
    log.decide("chat-1", callOf("read_file", { path: "/srv/work/a" }));
    log.append({ kind: "session_grant_ended", grant: "session-1", reason: "closed" });
    assert.equal(log.decide("chat-1", callOf("read_file", { path: "/srv/work/a" })).verdict.kind, "denied");
    assert.equal(replay(log.records, log.sources).same, 2);
  });
});

describe("decisionAt()", () => {
  test("gives a past decision's whole situation, which explains as it was decided", () => {
    const { records, sources } = someLog();
    const denied = records.find(({ event }) => event.kind === "decision" && event.tool === "http_fetch");
    assert.ok(denied !== undefined);
    const found = decisionAt(records, sources, denied.seq);
    assert.ok(found !== undefined && found.situation !== null);
    const { outcome, reason, matched } = explain(found.situation);
    assert.deepEqual([outcome, reason, matched[0]?.because], ["denied", "taint", "max_taint"]);
    assert.deepEqual(
      found.raisedBy.map(({ tool, after }) => `${tool} ${after.taint}`),
      ["read_file private", "read_file secret"],
    );
  });

  test("has nothing for a seq that is no decision", () => {
    const { records, sources } = someLog();
    const [first] = records;
    assert.ok(first !== undefined);
    assert.equal(decisionAt(records, sources, first.seq), undefined);
  });
});
