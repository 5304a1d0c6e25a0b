import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Timestamp } from "@boxmaker/proto";
import { explainRecord } from "../../src/audit/explain-record.ts";
import { formatOwnerTime } from "../../src/time/owner-time.ts";
import { AuditFolder, answered, came, decided, hashOf, opened, PRIVATE, STARTED } from "../support/audit-folder.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";

const NOTES = 'id = "notes"\ntool = "read_file"\nmode = "auto"\n\n[constraints]\npaths = ["/srv/notes"]\n';
const WEB = 'id = "web"\ntool = "http_fetch"\nmode = "auto"\n\n[constraints]\nhosts = ["example.com"]\n';
const MAIL = 'id = "mail"\ntool = "http_fetch"\nmode = "ask"\nmax_taint = "private"\n\n[constraints]\nhosts = ["mail.example"]\n';

async function why(folder: AuditFolder, seq: string, json = false) {
  const out = memoryScreen();
  const err = memoryScreen();
  const status = await explainRecord({ directory: folder.path, json, out: out.screen, err: err.screen }, seq);
  return { status, out: out.stream.text, err: err.stream.text };
}

function fetched(url: string): object {
  return { tool: "http_fetch", arguments: { form: "typed", values: { url } }, before: PRIVATE, raises: null, run: null };
}

/** Records 4 to 11: a read that raises the session, a fetch that is denied for it, and asks that are answered. */
function log(): AuditFolder {
  const folder = new AuditFolder();
  const files = [
    ["mail.toml", MAIL],
    ["notes.toml", NOTES],
    ["web.toml", WEB],
  ].map(([file = "", text = ""]) => ({ file, sha256: folder.keep("grants", text) }));
  const web = { grant: "web", grant_sha256: hashOf(WEB), matched: [{ grant: "web", sha256: hashOf(WEB), effect: "deny" }] };
  const mail = { grant: "mail", grant_sha256: hashOf(MAIL), matched: [{ grant: "mail", sha256: hashOf(MAIL), effect: "ask" }] };
  const label = { taint: "public", untrusted: true };
  return folder.add(
    STARTED,
    { kind: "grants_changed", files },
    opened("a"),
    decided("a", 1, "allowed", {
      grant_sha256: hashOf(NOTES),
      matched: [{ grant: "notes", sha256: hashOf(NOTES), effect: "auto" }],
    }),
    came(4, "a", 1),
    decided("a", 2, "denied", { ...fetched("https://example.com/"), ...web, label, reason: "taint" }),
    decided("a", 3, "ask", { ...fetched("https://mail.example/"), ...mail, label }),
    answered(7, "approved", { before: PRIVATE, raises: { taint: "private", untrusted: true }, by: "gateway", user: "anna" }),
    came(7, "a", 3),
    decided("a", 4, "ask", { ...fetched("https://mail.example/"), ...mail, label, before: { taint: "private", untrusted: true } }),
    answered(10, "refused", { reason: "not now" }),
  );
}

function at(second: number): string {
  return formatOwnerTime(Timestamp.parse(`2026-01-05T08:00:0${second}.000Z`));
}

test("why names the rule, its file and line, what the session had seen and by which call, and what would have passed", async () => {
  using folder = log();
  const { status, out, err } = await why(folder, "6");
  assert.deepEqual([status, err], [0, ""]);
  assert.equal(
    out,
    [
      "record 6: http_fetch: denied: the session has seen data too confidential for it",
      '  call        url "https://example.com/"',
      "  session     a, call 2",
      `  time        ${at(5)}`,
      `  by          "web", sha256 ${hashOf(WEB)}`,
      '  rules       "web" in "web.toml" line 1: deny, by max_taint, its default: the session has seen private data',
      "  seen so far private (may see secret, comes from terminal)",
      "  raised by   call 1: read_file, to private (record 4)",
      "  result is   public, untrusted",
      "  would pass  a new session (runs)",
      "              a session that has seen no more than public, untrusted (asks)",
      "",
    ].join("\n"),
  );
});

test("why says who approved, and what came of it; the numbers of the answer and of the result lead to the same", async () => {
  using folder = log();
  const { status, out } = await why(folder, "7");
  assert.equal(status, 0);
  assert.match(out, /^record 7: http_fetch: asks you\n/u);
  assert.match(out, / {2}rules {7}"mail" in "mail\.toml" line 3: ask, by mode = ask\n/u);
  assert.ok(
    out.includes(
      `  answer      approved by gateway ("anna"); it ran; raised the session to private, untrusted, ${at(7)} (record 8)\n`,
    ),
    out,
  );
  assert.match(out, / {2}came to {5}ok, 7 bytes, after 12 ms \(record 9\)\n/u);
  assert.deepEqual((await why(folder, "8")).out, out);
  assert.deepEqual((await why(folder, "9")).out, out);
});

test("why says that an ask was refused, or that nobody has answered yet, or that a call has no result", async () => {
  using folder = log();
  const refused = (await why(folder, "10")).out;
  assert.ok(
    refused.includes(`  answer      refused by bxctl: "not now"; it didn't run, ${at(0).replace(/:00 /u, ":10 ")} (record 11)\n`),
    refused,
  );
  assert.match(
    refused,
    /raised by {3}call 1: read_file, to private \(record 4\)\n {14}call 3: http_fetch, to private, untrusted \(record 7\)\n/u,
  );
  assert.doesNotMatch(refused, /came to/u);
  folder.add(decided("a", 5, "ask"), decided("a", 6, "allowed"));
  assert.match((await why(folder, "12")).out, /answer {6}none yet\n/u);
  assert.match((await why(folder, "13")).out, /came to {5}no result on record\n/u);
  folder.add(answered(12, "approved", { outcome: "changed" }), answered(12, "approved", { outcome: "denied", denial: "taint" }));
  const answers = (await why(folder, "12")).out;
  assert.match(answers, /answer {6}approved by bxctl; not run: it had changed since it was shown, .+ \(record 14\)\n/u);
  assert.match(
    answers,
    /approved by bxctl; denied all the same: the session has seen data too confidential for it, .+ \(record 15\)\n/u,
  );
});

test("a decision whose texts aren't kept any more is told as its record has it", async () => {
  using folder = log();
  rmSync(join(folder.path, "grants"), { recursive: true });
  const { status, out } = await why(folder, "4");
  assert.equal(status, 0);
  assert.ok(out.includes(`  rules       "notes": auto, sha256 ${hashOf(NOTES)}\n`), out);
  assert.match(out, /NOTE {8}its grants or arguments aren't kept any more: /u);
});

test("a pipe in the place of a kept text isn't waited for", async () => {
  using folder = log();
  const path = join(folder.path, "grants", hashOf(NOTES));
  rmSync(path);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const { status, out } = await why(folder, "4");
  assert.equal(status, 0);
  assert.match(out, /NOTE {8}its grants or arguments aren't kept any more: /u);
});

test("a denial that no rule gave is told apart", async () => {
  using folder = log().add(
    decided("a", 5, "denied", {
      reason: "throttled",
      before: { taint: "private", untrusted: true },
      grant: "notes",
      grant_sha256: hashOf(NOTES),
      matched: [{ grant: "notes", sha256: hashOf(NOTES), effect: "auto" }],
    }),
  );
  const { out } = await why(folder, "12");
  assert.match(out, /^record 12: read_file: denied: too many requests came at once\n/u);
  assert.match(out, /NOTE {8}brokerd itself, not a rule, denied it, or these rules would give another answer: allowed\n$/u);
});

test("--json has the record, its explanation, the answers and the result", async () => {
  using folder = log();
  const said = JSON.parse((await why(folder, "7", true)).out) as {
    decision: { seq: number };
    explanation: { outcome: string; matched: readonly { line: number }[] };
    answers: readonly { seq: number }[];
    result: { seq: number };
  };
  assert.deepEqual(
    [said.decision.seq, said.explanation.outcome, said.explanation.matched[0]?.line, said.answers[0]?.seq, said.result.seq],
    [7, "ask", 3, 8, 9],
  );
});

test("a record that is no decision, one that isn't there, and a number that is none, say so", async () => {
  using folder = log();
  const other = await why(folder, "1");
  assert.deepEqual(
    [other.status, other.out, other.err],
    [1, "", "bxctl: record 1 is no decision but started: bxctl audit show has its line\n"],
  );
  const none = await why(folder, "99");
  assert.deepEqual([none.status, none.err], [1, "bxctl: the audit log has no record 99\n"]);
  for (const text of ["0", "+4", "x\u001b[2J", "４"]) {
    const usage = await why(folder, text);
    assert.deepEqual([usage.status, usage.out], [2, ""]);
    assert.match(usage.err, /is no record: expected a number/u);
    assert.equal(findUnsafe(usage.err), undefined);
  }
});

test("what a broken log is good for is said, and that it is broken; what lies behind the break isn't believed", async () => {
  using folder = log();
  appendFileSync(folder.file, "{}\n");
  folder.seq++;
  folder.add(decided("a", 5, "denied"));
  const good = await why(folder, "10");
  assert.equal(good.status, 1);
  assert.match(good.out, /^record 10: /u);
  assert.match(good.err, /^bxctl: the audit log is broken, .+#audit-broken\n$/u);
  const behind = await why(folder, "13");
  assert.deepEqual([behind.status, behind.out], [1, ""]);
  assert.match(behind.err, /^bxctl: nothing vouches for record 13: .+#audit-broken\n$/u);
});

test("answers that name themselves or each other lead to no decision", async () => {
  using folder = new AuditFolder();
  folder.add(STARTED, answered(2, "approved"), answered(4, "refused"), answered(3, "refused"));
  for (const [seq, decision] of [
    ["2", 2],
    ["3", 3],
    ["4", 3],
  ] as const) {
    assert.deepEqual(await why(folder, seq), { status: 1, out: "", err: `bxctl: the audit log has no decision ${decision}\n` });
  }
});

test("a log that can't be read is one line with a pointer", async () => {
  using folder = log();
  rmSync(folder.path, { recursive: true });
  const { status, err } = await why(folder, "1");
  assert.equal(status, 1);
  assert.match(err, /#audit-directory\n$/u);
});

test("nothing in a record can steer the terminal", async () => {
  for (const text of HOSTILE) {
    using folder = log().add(
      decided("a", 5, "ask", {
        tool: text,
        grant: text,
        matched: [{ grant: text, sha256: hashOf("x"), effect: "ask" }],
        arguments: { form: "typed", values: { command: text } },
      }),
      answered(12, "refused", { reason: text, user: text }),
      decided("a", 6, "allowed", { spends: text }),
    );
    for (const seq of ["12", "14"]) {
      for (const json of [false, true]) {
        const { status, out } = await why(folder, seq, json);
        assert.equal(status, 0);
        assert.equal(findUnsafe(out), undefined, JSON.stringify(out));
      }
    }
  }
});
