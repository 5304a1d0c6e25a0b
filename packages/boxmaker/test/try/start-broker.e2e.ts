/** Which runtime a trial gets, with a real brokerd: the first that brokerd takes, and no other failure taken for a runtime's. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@boxmaker/edge/log";
import { type Layout, layoutOf } from "../../src/home/layout.ts";
import { makeHome } from "../../src/home/make-home.ts";
import { Supervisor } from "../../src/roles/supervisor.ts";
import type { RuntimeChoice } from "../../src/try/runtime-choice.ts";
import { type BrokerStart, startBroker } from "../../src/try/start-box.ts";

const NO_BUBBLEWRAP: RuntimeChoice = {
  runtime: "bubblewrap",
  toml: 'runtime = "bubblewrap"\nbubblewrap = "/does/not/exist"\nlimits = "unenforced"\n',
  why: "missing here",
};
const NO_PODMAN: RuntimeChoice = {
  runtime: "podman",
  toml: 'runtime = "podman"\npodman = "/does/not/exist"\n',
  why: "missing here",
};
const PROCESS: RuntimeChoice = { runtime: "process", toml: 'runtime = "process"\n', why: "file tools only" };
const MISSPELT: RuntimeChoice = { runtime: "bubblewrap", toml: 'runtime = "bubble"\n', why: "no runtime at all" };

async function start(choices: readonly RuntimeChoice[]): Promise<BrokerStart> {
  const home = await mkdtemp(join(tmpdir(), "bm-start-"));
  const result = layoutOf(home);
  assert.ok(result.kind === "ok");
  const layout: Layout = result.layout;
  await makeHome(layout);
  const supervisor = new Supervisor({ clock: systemClock, say: () => undefined, onLine: () => undefined });
  try {
    return await startBroker({ layout, supervisor }, { choices, skipped: [{ runtime: "podman", why: "there is no tools image" }] });
  } finally {
    await supervisor.stop();
    await rm(home, { recursive: true });
  }
}

test("a runtime that brokerd can't use is passed over, and the owner is told why", async () => {
  const started = await start([NO_PODMAN, NO_BUBBLEWRAP, PROCESS]);
  assert.ok(started.kind === "started", JSON.stringify(started));
  const [image, podman, bubblewrap, chosen, ...rest] = started.lines;
  assert.equal(image, "not used, podman: there is no tools image");
  assert.match(podman ?? "", /^not used, podman: podman "\/does\/not\/exist": .*; see docs\/runbook\.md#podman-unusable$/u);
  assert.match(bubblewrap ?? "", /^not used, bubblewrap: bubblewrap "\/does\/not\/exist": .*#bubblewrap-unusable$/u);
  assert.equal(chosen, "tools: process, file tools only");
  assert.deepEqual(rest, []);
});

test("where brokerd can use none, one line says what each needs", async () => {
  const started = await start([NO_PODMAN, NO_BUBBLEWRAP]);
  assert.ok(started.kind === "failed", JSON.stringify(started));
  assert.match(
    started.problem,
    /^no way to run tools .*podman-unusable.*bubblewrap-unusable; see docs\/runbook\.md#runtime-unavailable$/u,
  );
});

test("another failure of brokerd ends the search and is reported as it is", async () => {
  const started = await start([MISSPELT, PROCESS]);
  assert.ok(started.kind === "failed", JSON.stringify(started));
  assert.match(started.problem, /^brokerd: .*; see docs\/runbook\.md#config-invalid$/u);
});
