/** Grants that a log speaks for. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Suggestion, suggest } from "../../src/analysis/index.ts";
import { parseGrantFile } from "../../src/grants/index.ts";
import { completeGrant } from "../../src/rules/grant.ts";
import { callOf, grantText, NOW, setOf } from "./support.ts";
import { TestLog } from "./test-log.ts";

const DAY_MS = 24 * 3600 * 1000;
const GRANTS = { notes: grantText("read_file", "auto", ["/srv/notes"]), web: grantText("http_fetch", "auto", ["example.com"]) };
const read = (path: string): ReturnType<typeof callOf> => callOf("read_file", { path });
const fetchOf = (url: string): ReturnType<typeof callOf> => callOf("http_fetch", { url });

function logOf(texts: Readonly<Record<string, string>>): TestLog {
  const log = new TestLog();
  log.use(setOf(texts));
  log.open("chat-1");
  return log;
}

function suggestions(log: TestLog, texts: Readonly<Record<string, string>>, repeated = 2): readonly Suggestion[] {
  return suggest(log.records, log.sources, setOf(texts), NOW, { repeated, lastingMs: 30 * DAY_MS });
}

describe("suggest()", () => {
  test("has nothing to suggest where every call got what it gets", () => {
    const log = logOf(GRANTS);
    log.decide("chat-1", read("/srv/notes/a"));
    assert.deepEqual(suggestions(log, GRANTS), []);
  });

  test("suggests for denied reads a grant of these very files, with an end", () => {
    const log = logOf(GRANTS);
    const seqs = ["/srv/todo/b", "/srv/todo/a", "/srv/todo/b"].map((path) => log.decide("chat-1", read(path)).seq);
    const [only, ...rest] = suggestions(log, GRANTS);
    assert.ok(only !== undefined && rest.length === 0);
    const { grant, text } = only.loaded;
    assert.deepEqual(
      [grant.mode, grant.paths, grant.args.get("path"), grant.maxTaint],
      ["auto", ["/srv/todo"], { in: ["/srv/todo/a", "/srv/todo/b"] }, "public"],
    );
    assert.equal(grant.expires, Date.parse(NOW) + 30 * DAY_MS);
    assert.deepEqual(
      [only.because, only.wouldHave.map(({ after }) => after), only.also],
      [seqs, ["allowed", "allowed", "allowed"], []],
    );
    const { whole } = parseGrantFile(text);
    assert.deepEqual(whole === undefined ? undefined : completeGrant(whole), grant);
  });

  test("suggests asking for denied calls that change or send something", () => {
    const log = logOf(GRANTS);
    log.decide("chat-1", fetchOf("https://other.example/a"));
    log.decide("chat-1", callOf("write_file", { path: "/srv/out/a", content: "x" }));
    log.decide("chat-1", callOf("shell", { command: "make", cwd: "/srv/work" }));
    const found = suggestions(log, GRANTS).map(({ loaded: { grant }, wouldHave }) => [
      grant.tool,
      grant.mode,
      wouldHave.map(({ after }) => after),
    ]);
    assert.deepEqual(found, [
      ["http_fetch", "ask", ["ask"]],
      ["write_file", "ask", ["ask"]],
      ["shell", "ask", ["ask"]],
    ]);
  });

  test("suggests to let run what was approved as often as is asked for, and says which grants keep it asking", () => {
    const texts = { ...GRANTS, work: grantText("shell", "ask", ["/srv/work"]) };
    const log = logOf(texts);
    for (let round = 0; round < 3; round++)
      log.approve(log.decide("chat-1", callOf("shell", { command: "make", cwd: "/srv/work" })).seq);
    assert.deepEqual(suggestions(log, texts, 4), []);
    const [held] = suggestions(log, texts, 3);
    assert.deepEqual([held?.why, held?.loaded.grant.mode, held?.heldBackBy, held?.wouldHave], ["approved", "auto", ["work"], []]);
  });

  test("lets run what only asked because the session was untrusted, once the owner has said so in the grant themselves", () => {
    const texts = { ...GRANTS, drafts: grantText("write_file", "auto", ["/srv/drafts"]) };
    const log = logOf(texts);
    log.decide("chat-1", fetchOf("https://example.com/"));
    for (let round = 0; round < 2; round++)
      log.approve(log.decide("chat-1", callOf("write_file", { path: "/srv/drafts/a", content: "x" })).seq);
    const [found] = suggestions(log, texts);
    // It isn't widened for untrusted sessions by itself.
    assert.deepEqual([found?.loaded.grant.ifUntrusted, found?.wouldHave, found?.opens], ["ask", [], []]);
  });

  test("says what else in the log the grant would have let run", () => {
    const texts = { drafts: grantText("write_file", "auto", ["/srv/drafts"]) };
    const log = logOf(texts);
    const paths = Array.from({ length: 17 }, (_, index) => `/srv/todo/${index}`);
    for (const path of paths) log.decide("chat-1", read(path));
    const { seq } = log.decide("chat-1", read("/srv/todo/deep/x"));
    const [whole] = suggestions(log, texts);
    assert.deepEqual([whole?.loaded.grant.args.size, whole?.also.map((each) => each.seq)], [0, [seq]]);
  });

  test("says which way from data to a sink it would open", () => {
    const texts = {
      keys: grantText("read_file", "auto", ["/srv/keys"], 'label = "secret"'),
      web: grantText("http_fetch", "auto", ["example.com"], 'max_taint = "secret"'),
    };
    const before = { web: texts.web };
    const log = logOf(before);
    log.decide("chat-1", read("/srv/keys/a"));
    const [found] = suggestions(log, before);
    assert.deepEqual(
      found?.opens.map(({ from, sink }) => `${from} > ${sink}`),
      ["private > http_fetch"],
    );
    assert.deepEqual(found?.breaks, []);
  });

  test("names a folder that a box may write in the place of one inside it, which would be refused", () => {
    const texts = { work: grantText("shell", "ask", ["/srv/work"]) };
    const log = logOf(texts);
    log.decide("chat-1", read("/srv/work/src/a"));
    assert.deepEqual(suggestions(log, texts)[0]?.loaded.grant.paths, ["/srv/work"]);
  });
});
