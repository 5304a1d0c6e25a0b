/** What happens when the log can't be written, at each step of a call's life. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { AbsPath, type AuditEvent, type PathLabel } from "@boxmaker/proto";
import { SessionStates } from "../../src/ledger/session-states.ts";
import type { Fault } from "../fakes/faulty-log.ts";
import { BoxFiles, Rig, settle } from "../support/rig.ts";

const UNAVAILABLE = { outcome: "denied", reason: "audit_unavailable" };
const NOT_RECORDED = { outcome: "failed", message: "The result could not be recorded, so it is not released." };

function failAt(kind: AuditEvent["kind"], fault: Fault): (event: AuditEvent) => Fault {
  return (event) => (event.kind === kind ? fault : undefined);
}

async function assertStopped(rig: Rig, files: BoxFiles, runs: number): Promise<void> {
  assert.equal(rig.ledger.stopped, true);
  const before = files.records().length;
  assert.deepEqual(await rig.read("later", { session: "later" }).outcome, UNAVAILABLE);
  assert.deepEqual(await rig.write("later", { session: "later" }).outcome, UNAVAILABLE);
  assert.equal(files.records().length, before);
  assert.equal(rig.runtime.runs.length, runs);
  assert.equal(rig.ledger.running, 0);
  assert.equal(rig.lines.filter((line) => line.includes("audit-stopped")).length, 1);
}

for (const fault of ["throw", "reject"] as const) {
  for (const kind of ["grants_changed", "session_opened", "decision"] as const) {
    test(`nothing runs when the append of ${kind} fails (${fault}), and later calls are denied`, async () => {
      using files = new BoxFiles();
      files.grant("read", "read_file", "auto");
      files.grant("write", "write_file", "ask");
      await using rig = await Rig.open(files);
      rig.log.fault = failAt(kind, fault);
      assert.deepEqual(await rig.read().outcome, UNAVAILABLE);
      await assertStopped(rig, files, 0);
    });
  }

  test(`an ask whose decision can't be recorded (${fault}) isn't shown to anybody`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    files.grant("write", "write_file", "ask");
    await using rig = await Rig.open(files);
    rig.log.fault = failAt("decision", fault);
    let told = 0;
    const tell = async (): Promise<boolean> => {
      told++;
      return true;
    };
    assert.deepEqual(await rig.write("a", { tell }).outcome, UNAVAILABLE);
    assert.equal(told, 0);
    assert.equal(rig.table.size, 0);
    await assertStopped(rig, files, 0);
  });

  test(`a result that can't be recorded (${fault}) isn't released`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    files.grant("write", "write_file", "ask");
    await using rig = await Rig.open(files);
    rig.log.fault = failAt("result", fault);
    assert.deepEqual(await rig.read().outcome, NOT_RECORDED);
    await assertStopped(rig, files, 1);
    if (fault !== "throw") return;
    // The next start finds a call that ran and has no result.
    const seq = files.records().find(({ event }) => event.kind === "decision")?.seq;
    await using next = await openBeside(rig, files);
    assert.deepEqual(
      next.states.unfinished.map(({ decision }) => decision),
      [seq],
    );
  });

  test(`an approval that can't be recorded (${fault}) lets nothing run and says so`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    files.grant("write", "write_file", "ask");
    await using rig = await Rig.open(files);
    const sent = rig.write();
    const id = await sent.pending;
    rig.log.fault = failAt("approval", fault);
    const answer = await rig.approve(id);
    assert.deepEqual(answer, { kind: "approve_result", body: { outcome: "denied", reason: "audit_unavailable" } });
    assert.deepEqual(await sent.outcome, UNAVAILABLE);
    await assertStopped(rig, files, 0);
  });

  test(`a refusal that can't be recorded (${fault}) answers internal, and the call is denied`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    files.grant("write", "write_file", "ask");
    await using rig = await Rig.open(files);
    const sent = rig.write();
    const id = await sent.pending;
    rig.log.fault = failAt("approval", fault);
    assert.deepEqual(await rig.refuse(id), {
      kind: "error",
      body: {
        code: "internal",
        detail: "the refusal could not be recorded; the call is denied; see docs/runbook.md#audit-unavailable",
      },
    });
    assert.deepEqual(await sent.outcome, UNAVAILABLE);
    await assertStopped(rig, files, 0);
  });

  for (const end of ["expired", "gone"] as const) {
    test(`an ask whose end (${end}) can't be recorded (${fault}) is denied all the same`, async () => {
      using files = new BoxFiles();
      files.grant("read", "read_file", "auto");
      files.grant("write", "write_file", "ask");
      await using rig = await Rig.open(files, { ttlMs: 1000 });
      const sent = rig.write();
      await sent.pending;
      rig.log.fault = failAt("approval", fault);
      if (end === "gone") sent.leave();
      else rig.clock.advance(1000);
      assert.deepEqual(await sent.outcome, UNAVAILABLE);
      await assertStopped(rig, files, 0);
    });
  }
}

test("when the log stops, every ask that waits is denied at once, and nobody can approve one", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const waiting = ["one", "two"].map((session) => rig.write("a", { session }));
  const [first] = await Promise.all(waiting.map(({ pending }) => pending));
  assert.ok(first !== undefined);
  rig.log.fault = failAt("result", "reject");
  assert.deepEqual(await rig.read("a", { session: "three" }).outcome, NOT_RECORDED);
  assert.deepEqual(await Promise.all(waiting.map(({ outcome }) => outcome)), [UNAVAILABLE, UNAVAILABLE]);
  assert.equal(rig.table.size, 0);
  assert.equal((await rig.refuse(first)).kind, "error");
  assert.equal(rig.runtime.runs.length, 1);
});

test("a step that was enqueued after the one that failed fails too", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  await rig.read("warm").outcome;
  let count = 0;
  rig.log.fault = (event) => {
    if (event.kind !== "decision") return undefined;
    count++;
    return count === 2 ? "reject" : undefined;
  };
  const sent = ["one", "two", "three"].map((session) => rig.read("a", { session }).outcome);
  // The first one's decision was durable before the failure; it ran, and its result can't be recorded any more.
  assert.deepEqual(await Promise.all(sent), [NOT_RECORDED, UNAVAILABLE, UNAVAILABLE]);
  await assertStopped(rig, files, 2);
});

test("grants whose texts can't be kept decide nothing", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  rmSync(files.at("audit/grants"), { recursive: true });
  writeFileSync(files.at("audit/grants"), "in the way");
  assert.deepEqual(await rig.read().outcome, UNAVAILABLE);
  assert.equal(rig.ledger.stopped, true);
  assert.equal(files.records().length, 0);
});

/** As after tens of thousands of writes below one mount: more labels than a record holds. */
class CrowdedStates extends SessionStates {
  readonly #labels: readonly PathLabel[];

  constructor(mount: AbsPath) {
    super();
    const label = { taint: "public", untrusted: false } as const;
    this.#labels = Array.from({ length: 60_000 }, (_, index) => ({
      path: AbsPath.parse(`${mount}/${"x".repeat(60)}${index}`),
      label,
    }));
  }

  override get pathLabels(): readonly PathLabel[] {
    return this.#labels;
  }
}

test("a decision whose input makes no record is denied, recorded without it, and others go on", async () => {
  using files = new BoxFiles();
  files.grant("shell", "shell", "auto", "", [files.at("work")]);
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  await rig.read().outcome;
  await using other = await openBeside(rig, files, new CrowdedStates(files.at("work")));
  assert.deepEqual(await other.send("shell", { command: "ls" }, { session: "s" }).outcome, UNAVAILABLE);
  assert.equal(other.ledger.stopped, false);
  const recorded = files.events("decision").at(-1);
  assert.deepEqual([recorded?.outcome, recorded?.reason, recorded?.path_labels], ["denied", "audit_unavailable", []]);
  assert.equal(recorded?.arguments.form, "unread");
  assert.equal(other.runtime.runs.length, 0);
  const next = await other.read("todo.md", { session: "s" }).outcome;
  assert.equal(typeof next === "object" && next.outcome, "result");
});

/** A second life over the same files, with other states. */
async function openBeside(rig: Rig, files: BoxFiles, states?: Rig["states"]): Promise<Rig> {
  await rig.audit[Symbol.asyncDispose]();
  return Rig.open(files, states === undefined ? {} : { ledger: { states } });
}

test("first decisions of the same moment keep and record the grants once, and a changed set once more", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  const burst = async (): Promise<void> => {
    const sent = Array.from({ length: 16 }, (_, index) => rig.read("a", { session: `s-${index}` }));
    for (const { outcome } of sent) assert.equal(((await outcome) as { outcome: string }).outcome, "result");
  };
  await burst();
  assert.equal(files.events("grants_changed").length, 1);
  files.grant("other", "write_file", "deny");
  await burst();
  const changes = files.events("grants_changed");
  assert.deepEqual(
    changes.map((event) => event.files.map(({ file }) => file)),
    [["read.toml"], ["other.toml", "read.toml"]],
  );
  assert.equal(rig.ledger.stopped, false);
});

test("a grant's text is kept again where the kept one was damaged", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  const hash = await (async () => {
    await using rig = await Rig.open(files);
    await rig.read().outcome;
    return files.events("grants_changed")[0]?.files[0]?.sha256 ?? assert.fail();
  })();
  writeFileSync(files.at(`audit/grants/${hash}`), "damaged");
  await using rig = await Rig.open(files);
  await rig.read().outcome;
  rmSync(files.at(`audit/grants/${hash}`));
  mkdirSync(files.at(`audit/grants/${hash}`));
  await using third = await openBeside(rig, files, rig.states);
  assert.deepEqual(await third.read().outcome, UNAVAILABLE);
});

test("a record that nobody waits for stops the ledger when it can't be written", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.log.fault = failAt("grants_changed", "reject");
  await rig.read().outcome;
  await settle();
  assert.equal(rig.ledger.stopped, true);
});
