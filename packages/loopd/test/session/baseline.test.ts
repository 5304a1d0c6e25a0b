import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import { AbsPath } from "@boxmaker/proto";
import { coreToolsText } from "../../src/registry/registry.ts";
import { type BaselineReading, composeBaseline, type EarlierEpochs } from "../../src/session/baseline.ts";
import { TestHome } from "../support/home.ts";
import { contentOf } from "../support/loop-client.ts";
import { TestLoop } from "../support/test-loop.ts";

function compose(home: TestHome, earlier: EarlierEpochs | null = null): Promise<BaselineReading> {
  const sources = {
    system: { path: AbsPath.parse(home.at("etc/system.md")), required: false },
    coreMemory: AbsPath.parse(home.at("memory/core.md")),
    notesFolder: null,
    tools: "[]",
  };
  return composeBaseline(sources, earlier);
}

async function systemIn(home: TestHome, earlier: EarlierEpochs | null = null): Promise<string> {
  const reading = await compose(home, earlier);
  return reading.kind === "ok" ? reading.baseline.system : reading.problem;
}

test("the baseline is the prompt trimmed, then the core memory behind a blank line, then the summary", async () => {
  await using home = await TestHome.make();
  await writeFile(home.at("etc/system.md"), "Be kind.  \n\n");
  assert.equal(await systemIn(home), "Be kind.");
  await writeFile(home.at("memory/core.md"), "\n  I like tea.\n\n");
  assert.equal(await systemIn(home), "Be kind.\n\nI like tea.");
  assert.match(
    await systemIn(home, { summary: "They met.", mayHaveMemory: true }),
    /^Be kind\.\n\nI like tea\.\n\nSummary of this conversation so far, .*:\n\nThey met\.$/u,
  );
  assert.doesNotMatch(await systemIn(home, { summary: "They met.", mayHaveMemory: false }), /tea/u);
  await writeFile(home.at("memory/core.md"), " \n");
  const blank = await compose(home);
  assert.deepEqual(blank.kind === "ok" && [blank.baseline.system, blank.baseline.memory], ["Be kind.", false]);
});

test("a core memory that isn't UTF-8 is refused with a pointer, and so is one that can't be read", async () => {
  await using home = await TestHome.make();
  await writeFile(home.at("memory/core.md"), Buffer.from([0x41, 0xff]));
  assert.match(await systemIn(home), /core\.md": it is not UTF-8; see docs\/runbook\.md#core-memory-unreadable$/u);
});

test("the built-in prompt and the core tools are well within the budget of 3,000 tokens", async () => {
  await using home = await TestHome.make();
  // No tokenizer in use makes more tokens of English and JSON than one for each two bytes.
  assert.ok((Buffer.byteLength(await systemIn(home)) + Buffer.byteLength(coreToolsText())) / 2 < 3_000);
});

test("half characters of a model are stored so that the session opens again", async () => {
  const half = "a\ud800b";
  await using loop = await TestLoop.start({
    model: {
      script: ({ index }) =>
        index === 0
          ? {
              kind: "stream",
              cutAt: null,
              split: "none",
              holdSlot: null,
              steps: [
                { kind: "start" },
                {
                  kind: "bytes",
                  bytes: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { reasoning_content: half } }] })}\n\n`,
                },
                { kind: "bytes", bytes: `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: half } }] })}\n\n` },
                { kind: "finish", reason: "stop" },
                { kind: "done" },
              ],
            }
          : reply({ content: "ok" }),
    },
  });
  const first = await loop.client.turn("s1", "hello");
  await loop.restart();
  assert.equal(contentOf(await loop.client.turn("s1", first.end.kind === "turn_done" ? "go on" : "again", { resume: true })), "ok");
});
