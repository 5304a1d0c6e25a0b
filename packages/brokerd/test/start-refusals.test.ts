/** What stands in the way of a start, step by step: one line that ends with a pointer, and nothing left that answers. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { openLog, systemClock } from "@boxmaker/edge/log";
import { readConfig } from "../src/config/config.ts";
import { type Serving, serve } from "../src/serve.ts";
import { adminOf, brokerOf, configOf } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

async function start(files: BoxFiles): Promise<Serving> {
  const reading = await readConfig(configOf(files));
  if (reading.kind === "invalid") throw new Error(reading.problem);
  const log = openLog(
    () => undefined,
    () => 0,
  );
  return serve(reading.config, { version: "0.1.0", clock: systemClock, log });
}

/** Each spoils one thing that a start needs. */
const SPOILS: readonly (readonly [string, (files: BoxFiles) => void, RegExp])[] = [
  [
    "the audit directory is a link",
    (files) => {
      mkdirSync(files.at("real"), { mode: 0o700 });
      symlinkSync(files.at("real"), files.at("audit"));
    },
    /#audit-/u,
  ],
  ["the audit directory is a file", (files) => writeFileSync(files.at("audit"), ""), /#audit-directory$/u],
  [
    "the place of the kept grants is a file",
    (files) => {
      mkdirSync(files.at("audit"), { mode: 0o700 });
      writeFileSync(files.at("audit/grants"), "");
    },
    /#audit-/u,
  ],
  ["the place of the checkpoint keys is a file", (files) => writeFileSync(files.at("broker"), ""), /#checkpoint/u],
  ["the place of the sockets is a file", (files) => writeFileSync(files.at("run"), ""), /#socket-refused$/u],
];

for (const [name, spoil, pointer] of SPOILS) {
  test(`where ${name}, brokerd refuses to start in one line with a pointer, and serves nothing`, async () => {
    using files = new BoxFiles();
    spoil(files);
    const serving = await start(files);
    if (serving.kind === "serving") await serving.broker.stop(AbortSignal.abort());
    assert.equal(serving.kind, "refused");
    assert.match(serving.kind === "refused" ? serving.problem : "", /^[^\n]+; see docs\/runbook\.md#[a-z-]+$/u);
    assert.match(serving.kind === "refused" ? serving.problem : "", pointer);
    assert.equal(existsSync(brokerOf(files)), false);
    assert.equal(existsSync(adminOf(files)), false);
  });
}

test("where the saved state can't be read, the whole log is read instead, and it is said", async () => {
  using files = new BoxFiles();
  mkdirSync(files.savedState, { recursive: true });
  const serving = await start(files);
  assert(serving.kind === "serving");
  assert.equal(serving.broker.notices.filter((notice) => notice.endsWith("see docs/runbook.md#saved-state-unusable")).length, 1);
  await serving.broker.stop(AbortSignal.abort());
  assert.deepEqual(
    files.records().map(({ event }) => event.kind),
    ["started", "stopped"],
  );
});
