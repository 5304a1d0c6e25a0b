import assert from "node:assert/strict";
import { test } from "node:test";
import { reply, replySteps, stream } from "@boxmaker/demo-model";
import { codeOf, contentOf, namesOf } from "../support/loop-client.ts";
import { TestLoop } from "../support/test-loop.ts";

const LOST_TEXT = "Never to be kept";
const lost = stream([...replySteps({ content: LOST_TEXT }).slice(0, -2), { kind: "cut" }]);

test("a reply that is lost in its middle is told as discarded and stored nowhere, and the turn goes on with the next", async () => {
  await using loop = await TestLoop.start({ model: { script: [lost, reply({ content: "Whole." }), reply({ content: "More." })] } });
  const turn = await loop.client.turn("s1", "hi");
  assert.equal(contentOf(turn), "Whole.");
  const told = namesOf(turn).filter((name) => name === "discarded" || name === "retrying");
  assert.deepEqual(told, ["discarded", "retrying"]);
  await loop.client.turn("s1", "and?", { resume: true });
  assert.ok(!JSON.stringify(await loop.records("s1")).includes("Never"));
  assert.ok(!JSON.stringify(loop.model.requests.at(-1)?.chat.messages).includes("Never"));
});

test("a turn that ends because its reply was lost twice says both times that it is discarded, and stores nothing of it", async () => {
  await using loop = await TestLoop.start({ model: { script: [lost, lost] } });
  const turn = await loop.client.turn("s1", "hi");
  assert.equal(codeOf(turn), "inference");
  assert.equal(namesOf(turn).filter((name) => name === "discarded").length, 2);
  assert.ok(!JSON.stringify(await loop.records("s1")).includes("Never"));
});
