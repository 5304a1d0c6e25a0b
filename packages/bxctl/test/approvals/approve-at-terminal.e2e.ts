/** `bxctl approve` where a person sits: what is shown, what agrees to it, and what doesn't. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminRequest } from "@boxmaker/proto";
import { askBlock, DIGEST } from "../support/asks.ts";
import { listenAdmin } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";
import { findTerminalProblem, Terminal } from "../support/terminal.ts";

const skip = findTerminalProblem() ?? false;
const QUESTION = /^let shell run\? y\/N:$/mu;

/** Answers the question with keys; returns what was on the screen at the end, and what brokerd was asked to do. */
async function approve(keys: readonly string[], ended: RegExp, env: Readonly<Record<string, string>> = {}) {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, ({ kind }) =>
    kind === "approval" ? askBlock() : { kind: "approve_result", body: { outcome: "ask" } },
  );
  await using terminal = new Terminal(home.path, ["approve", "41", "--home", home.path], env);
  const asked = await terminal.shows(QUESTION);
  assert.ok(asked.includes(`  digest      ${DIGEST}`));
  assert.ok(asked.includes('    | "rm -r old"'));
  terminal.keys(...keys);
  const rows = await terminal.shows(ended);
  const done = admin.requests.filter(({ kind }) => kind !== "approval");
  return { rows, done };
}

const APPROVED: readonly AdminRequest[] = [{ kind: "approve", body: { approval: askBlock().body.ask.approval, digest: DIGEST } }];

for (const [kind, env] of [
  ["an editing terminal", {}],
  ["a dumb terminal", { TERM: "dumb" }],
] as const) {
  test(`on ${kind}, y approves what was shown`, { skip }, async () => {
    const { rows, done } = await approve(["y", "Enter"], /^ended 0 icanon$/mu, env);
    assert.ok(rows.includes("approval 41: approved, it runs"));
    assert.deepEqual(done, APPROVED);
  });
}

for (const keys of [["Enter"], ["n", "Enter"], ["C-c"]]) {
  test(`${keys.join(" ")} approves nothing and leaves the call waiting`, { skip }, async () => {
    const { rows, done } = await approve(keys, /^ended 1 icanon$/mu);
    assert.match(rows.join("\n"), /^bxctl: approval 41: not approved, nothing ran; it waits until it expires$/mu);
    assert.deepEqual(done, []);
  });
}
