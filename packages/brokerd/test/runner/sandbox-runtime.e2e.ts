/** What a runtime does around its boxes, with scripts in the place of boxes. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { BoxDone, encodeMessage } from "@boxmaker/proto";
import type { Launch } from "../../src/runner/box-child.ts";
import { type AheadLauncher, BoxPool, sweepPoolDirectory } from "../../src/runner/pool/box-pool.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { RunnerConfig } from "../../src/runner/runner-config.ts";
import { type Launcher, SandboxRuntime } from "../../src/runner/sandbox-runtime.ts";
import { decideCall } from "./decisions.ts";
import { temporaryFolder } from "./temporary-folder.ts";

test("no box is started ahead for grants that changed between a call's answer and the end of its box", async () => {
  using folder = temporaryFolder();
  const message = BoxDone.parse({ kind: "box_done", body: { status: "ok", content: "", truncated: false } });
  writeFileSync(folder.at("answer"), encodeMessage(BoxDone, { id: 1, final: true, message }));
  const script = (text: string): Launch => ({
    program: "/bin/sh",
    args: ["-c", text, "sh", folder.at("answer"), folder.at("end")],
    environment: { PATH: "/usr/bin:/bin" },
    filter: null,
    reportsChild: false,
    stop: async (killChild) => killChild(),
  });
  const ahead: string[] = [];
  const started = Promise.withResolvers<void>();
  const launcher: Launcher & AheadLauncher = {
    name: "bubblewrap",
    image: null,
    keepsIdentities: false,
    canRun: () => true,
    refuse: () => undefined,
    launch: () => script('cat "$1"; while [ ! -e "$2" ]; do sleep 0.01; done'),
    launchAhead: ({ layers }) => {
      ahead.push(...layers.map(({ path }) => path));
      if (ahead.includes(folder.at("after"))) started.resolve();
      return { ...script("exec cat"), processFile: null };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const config = RunnerConfig.parse({ runtime: "bubblewrap" });
  const pool = new BoxPool({ launcher, config, directory: await sweepPoolDirectory(folder.path) });
  await using runtime = new SandboxRuntime(launcher, config, null, pool);
  const run = async (name: string): Promise<void> => {
    const decision = decideCall(runtime, { tool: "shell", arguments: { command: "true" }, paths: [folder.at(name)] });
    const outcome = await runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
    assert.ok(outcome.kind === "done", JSON.stringify(outcome));
  };
  for (const name of ["before", "after"]) mkdirSync(folder.at(name));
  await run("before");
  runtime.grantsChanged();
  writeFileSync(folder.at("end"), "");
  while (runtime.mayWrite(folder.path)) await new Promise((resolve) => setTimeout(resolve, 5));
  // A box like this one is started ahead; one like the other would have been before.
  await run("after");
  await started.promise;
  assert.deepEqual(ahead, [folder.at("after")]);
});
