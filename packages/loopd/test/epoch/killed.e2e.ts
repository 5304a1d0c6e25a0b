/** A loopd that is killed while it sums a conversation up, and at any moment around it: nothing is lost, and the session goes on. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { reply, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { readSession } from "@boxmaker/edge/session-files";
import { TestHome } from "../support/home.ts";
import { contentOf, LoopClient } from "../support/loop-client.ts";
import { RoleProcess } from "../support/role-process.ts";
import { isSummaryRequest, systemOf } from "../support/summaries.ts";

const never = new Promise(() => {});

test("a loopd killed in the middle of a summary leaves the session as it was", async () => {
  await using home = await TestHome.make();
  let asked = 0;
  const hanging = stream([...replySteps({ content: "They met" }).slice(0, 2), { kind: "wait", gate: never }]);
  await using model = await startModelServer({
    script: (request) => {
      if (!isSummaryRequest(request)) return reply({ content: "hi" });
      return asked++ === 0 ? hanging : reply({ content: "They met." });
    },
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  const config = await home.writeConfig();
  const client = new LoopClient(home.at("run/loop/loop.sock"));
  const first = await RoleProcess.loopd(config);
  await client.turn("s1", "hello");
  const before = await readFile(home.at("sessions/s1/0.jsonl"), "utf8");
  const compacting = client.compact("s1").catch((error: unknown) => error);
  await model.received(2);
  await first.kill();
  assert.ok((await compacting) instanceof Error);
  assert.equal(await readFile(home.at("sessions/s1/0.jsonl"), "utf8"), before);

  await using _second = await RoleProcess.loopd(config);
  assert.equal((await client.compact("s1")).end.kind, "ok");
  assert.equal(contentOf(await client.turn("s1", "go on", { resume: true })), "hi");
  assert.match(systemOf(model.requests.at(-1)), /They met\.$/u);
});

test("a loopd killed as soon as each new file of an epoch appears finds the session whole at its next start", async () => {
  await using home = await TestHome.make();
  await using _model = await startModelServer({
    script: (request) => reply({ content: isSummaryRequest(request) ? `Summary ${request.index}.` : "hi" }),
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  const config = await home.writeConfig();
  const client = new LoopClient(home.at("run/loop/loop.sock"));
  const folder = home.at("sessions/s1");
  let turns = 0;
  for (const kept of [0, 1, 2, 3]) {
    await using loopd = await RoleProcess.loopd(config);
    await client.turn("s1", `turn ${turns}`, { resume: turns > 0 });
    turns++;
    const files = (await readdir(folder)).length;
    let settled = false;
    const compacting = client
      .compact("s1")
      .catch((error: unknown) => error)
      .finally(() => {
        settled = true;
      });
    // The kill falls somewhere behind the moment that this many files are there.
    while (!settled && (await readdir(folder)).length < files + Math.min(kept, 2))
      await new Promise((resolve) => setImmediate(resolve));
    await loopd.kill();
    await compacting;
    const epochs = await readSession(folder);
    const said = epochs.flatMap(({ records }) => records).filter(({ kind }) => kind === "user");
    assert.equal(said.length, turns);
  }
  await using _last = await RoleProcess.loopd(config);
  assert.equal(contentOf(await client.turn("s1", "and on", { resume: true })), "hi");
});
