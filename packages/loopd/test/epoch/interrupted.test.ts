/** An epoch that was interrupted: at each step between its summary and the next one's beginning the session is whole and goes on. */
import assert from "node:assert/strict";
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import { codeOf, contentOf, namesOf } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { isSummaryRequest, systemOf } from "../support/summaries.ts";
import { TestLoop } from "../support/test-loop.ts";

const SESSION = "sessions/s1";

/** A session whose first epoch has ended and whose second one has one turn, as it was on disk at each step: file by file. */
async function ended(): Promise<TestLoop> {
  let answered = 0;
  const loop = await TestLoop.start({
    model: {
      script: (request) => reply({ content: isSummaryRequest(request) ? "They met." : `answer ${answered++}` }),
    },
    broker: async (_request, send) => {
      await send(result("text"), true);
    },
  });
  await loop.client.turn("s1", "hello");
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  await loop.stop();
  return loop;
}

/** What a kill at a step leaves of the files that come after it. */
const STEPS: readonly (readonly [string, (loop: TestLoop) => Promise<void>, asksAgain: boolean])[] = [
  [
    "before the summary was recorded",
    async (loop) => {
      const log = await readFile(loop.home.at(`${SESSION}/0.jsonl`), "utf8");
      await writeFile(loop.home.at(`${SESSION}/0.jsonl`), log.replace(/\{"kind":"epoch_end".*\n$/u, ""));
      await rm(loop.home.at(`${SESSION}/1.jsonl`));
      await rm(loop.home.at(`${SESSION}/1.baseline.json`));
    },
    true,
  ],
  [
    "before the baseline was written",
    async (loop) => {
      await rm(loop.home.at(`${SESSION}/1.jsonl`));
      await rm(loop.home.at(`${SESSION}/1.baseline.json`));
    },
    false,
  ],
  [
    "in the middle of writing the baseline",
    async (loop) => {
      await rm(loop.home.at(`${SESSION}/1.jsonl`));
      await rm(loop.home.at(`${SESSION}/1.baseline.json`));
      await writeFile(loop.home.at(`${SESSION}/.new-1.baseline.json`), '{"version":1,"sys');
    },
    false,
  ],
  ["before the log was written", async (loop) => rm(loop.home.at(`${SESSION}/1.jsonl`)), false],
  [
    "in the middle of writing the log",
    async (loop) => {
      await rename(loop.home.at(`${SESSION}/1.jsonl`), loop.home.at(`${SESSION}/.new-1.jsonl`));
      await writeFile(loop.home.at(`${SESSION}/.new-1.jsonl`), '{"kind":"sess');
    },
    false,
  ],
];

for (const [when, interrupt, asksAgain] of STEPS) {
  test(`a loopd that is killed ${when} goes on with the session`, async () => {
    await using loop = await ended();
    await interrupt(loop);
    await loop.restart();
    const turn = await loop.client.turn("s1", "go on", { resume: true });
    assert.equal(contentOf(turn), "answer 1");
    const last = loop.model.requests.at(-1);
    if (asksAgain) {
      assert.equal(last?.chat.messages.length, 4);
      assert.equal((await loop.client.compact("s1")).end.kind, "ok");
    } else {
      assert.deepEqual(namesOf(turn), ["epoch"]);
      assert.match(systemOf(last), /They met\.$/u);
    }
    assert.deepEqual((await readdir(loop.home.at(SESSION))).toSorted(), [
      "0.baseline.json",
      "0.jsonl",
      "1.baseline.json",
      "1.jsonl",
    ]);
    assert.equal(contentOf(await loop.client.turn("s1", "and on", { resume: true })), "answer 2");
  });
}

test("a disk that refuses the next epoch's files fails the turn with one line, and the session goes on when it takes them", async () => {
  await using loop = await ended();
  await rm(loop.home.at(`${SESSION}/1.jsonl`));
  await loop.restart();
  for (const name of [".new-1.baseline.json", ".new-1.jsonl"]) {
    await mkdir(loop.home.at(`${SESSION}/${name}`));
    const refused = await loop.client.turn("s1", "go on", { resume: true });
    assert.equal(codeOf(refused), "internal");
    assert.match(refused.end.kind === "error" ? refused.end.body.detail : "", /EISDIR; see docs\/runbook\.md#session-unwritable$/u);
    await rm(loop.home.at(`${SESSION}/${name}`), { recursive: true });
  }
  const turn = await loop.client.turn("s1", "and on", { resume: true });
  assert.equal(contentOf(turn), "answer 1");
  assert.deepEqual(namesOf(turn), ["epoch"]);
});

const DAMAGES: readonly (readonly [string, RegExp, (loop: TestLoop) => Promise<void>])[] = [
  ["an epoch is missing", /0\.jsonl": ENOENT|epoch 0 is missing/u, async (loop) => rm(loop.home.at(`${SESSION}/0.jsonl`))],
  [
    "an earlier epoch has no end",
    /0\.jsonl": line 5: expected the end of the epoch/u,
    async (loop) => {
      const log = await readFile(loop.home.at(`${SESSION}/0.jsonl`), "utf8");
      await writeFile(loop.home.at(`${SESSION}/0.jsonl`), log.replace(/\{"kind":"epoch_end".*\n$/u, ""));
    },
  ],
  [
    "an earlier epoch is torn",
    /0\.jsonl": line 6: the line is torn/u,
    async (loop) => appendFile(loop.home.at(`${SESSION}/0.jsonl`), "{"),
  ],
  [
    "an epoch is of another origin",
    /1\.jsonl": line 1: expected the origin and the slot of the epochs before it/u,
    async (loop) => {
      const log = await readFile(loop.home.at(`${SESSION}/1.jsonl`), "utf8");
      await writeFile(loop.home.at(`${SESSION}/1.jsonl`), log.replace('"terminal"', '"gateway"'));
    },
  ],
  [
    "the new baseline is gone",
    /1\.baseline\.json": ENOENT; see docs\/runbook\.md#session-unreadable$/u,
    async (loop) => rm(loop.home.at(`${SESSION}/1.baseline.json`)),
  ],
];

for (const [what, line, damage] of DAMAGES) {
  test(`a session is refused with the line where ${what}`, async () => {
    await using loop = await ended();
    await damage(loop);
    await loop.restart();
    const turn = await loop.client.turn("s1", "go on", { resume: true });
    assert.equal(codeOf(turn), "internal");
    const detail = turn.end.kind === "error" ? turn.end.body.detail : "";
    assert.match(detail, line);
    assert.match(detail, /; see docs\/runbook\.md#session-[a-z-]+$/u);
    assert.equal(loop.model.requests.length, 2);
  });
}
