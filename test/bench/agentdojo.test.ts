import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Call, readCorpus, type Suite, type Tool } from "../../bench/agentdojo/corpus.ts";
import { VARIANTS } from "../../bench/agentdojo/grants.ts";
import { replay } from "../../bench/agentdojo/replay.ts";
import { destinationsOf, prefixOf, urlsOf } from "../../bench/agentdojo/spelling.ts";
import { REPOSITORY } from "../architecture/seeded-tree.ts";

const SUITES = readCorpus();
const ROWS = readFileSync(join(REPOSITORY, "docs/security-figures.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"));

test("docs/security-figures.md has one row for each variant, in their order", () => {
  assert.deepEqual(
    ROWS.map((row) => row.split("`")[1]),
    VARIANTS.map(({ name }) => name),
  );
});

for (const [index, variant] of VARIANTS.entries()) {
  test(`docs/security-figures.md says of ${variant.name} what the replay counts`, () => {
    const tally = replay(SUITES, variant);
    assert.deepEqual([tally.tasks, tally.attacks], [97, 929]);
    const mean = (tally.approvals / tally.tasks).toFixed(2);
    const cells = [
      `\`${variant.name}\``,
      String(tally.tasksWithoutApproval),
      String(tally.tasksWithOneAtMost),
      `${mean} (${tally.mostApprovals})`,
      String(tally.attacksThrough),
    ];
    assert.equal(ROWS[index], `| ${cells.join(" | ")} |`);
  });
}

const SEND: Tool = {
  name: "send_email",
  proposed: { effect: "write", egress: true, destination_args: ["recipients", "cc"], label: "public", untrusted: false },
};
const WORLD: Suite = {
  name: "world",
  tools: new Map([[SEND.name, SEND]]),
  userTasks: [],
  attacks: [],
  knownDestinations: [],
};

function callOf(args: Call["args"]): Call {
  return { function: "send_email", args, vectors_in_result: [], args_in_prompt: {} };
}

test("destinationsOf() names everyone in every destination argument", () => {
  assert.deepEqual(destinationsOf(SEND, callOf({ recipients: ["a@x.org", "b@x.org"], cc: ["c@x.org"], body: "d@x.org" })), [
    { argument: "recipients", value: "a@x.org" },
    { argument: "recipients", value: "b@x.org" },
    { argument: "cc", value: "c@x.org" },
  ]);
});

test("urlsOf() asks once per destination, and once where there is none", () => {
  assert.deepEqual(urlsOf(WORLD, callOf({ recipients: ["a@x.org", "b"], body: "it's" })), [
    "https://send-email.world.example/to/recipients/x.org/a/?recipients=%5B%22a%40x.org%22%2C%22b%22%5D&body=it%27s",
    "https://send-email.world.example/to/recipients/b/?recipients=%5B%22a%40x.org%22%2C%22b%22%5D&body=it%27s",
  ]);
  assert.deepEqual(urlsOf(WORLD, callOf({ body: "" })), ["https://send-email.world.example/nobody/?body="]);
});

test("prefixOf() of a domain holds its addresses and no longer domain", () => {
  const domain = prefixOf(WORLD, SEND, { argument: "recipients", value: "@x.org" });
  const begins = (value: string): boolean => prefixOf(WORLD, SEND, { argument: "recipients", value }).startsWith(domain);
  assert.deepEqual(["a@x.org", "a@x.org.evil", "a@evil", "x.org"].map(begins), [true, false, false, true]);
});
