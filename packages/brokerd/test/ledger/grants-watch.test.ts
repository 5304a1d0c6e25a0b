import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { GrantStore } from "@boxmaker/policy/grants";
import { AbsPath } from "@boxmaker/proto";
import { watchGrants } from "../../src/ledger/grants-watch.ts";
import { HurriedClock } from "../fakes/hurried-clock.ts";
import { RecordingRuntime } from "../fakes/recording-runtime.ts";

test("watchGrants() tells of each set that differs from the one before, and of no other", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-watch-")));
  try {
    const directory = AbsPath.parse(join(folder, "grants"));
    mkdirSync(directory, { mode: 0o700 });
    const store = new GrantStore({ directory, forbidden: [], clock: new HurriedClock() });
    const runtime = new RecordingRuntime();
    const watch = watchGrants(() => runtime.grantsChanged());
    const look = async (): Promise<number> => {
      watch(await store.current());
      return runtime.grantChanges;
    };
    assert.equal(await look(), 1);
    assert.equal(await look(), 1);
    const grant = 'id = "web"\ntool = "http_fetch"\nmode = "auto"\n[constraints]\nhosts = ["example.com"]\n';
    writeFileSync(join(directory, "web.toml"), grant, { mode: 0o600 });
    assert.equal(await look(), 2);
    assert.equal(await look(), 2);
    writeFileSync(join(directory, "web.toml"), "nonsense", { mode: 0o600 });
    assert.equal(await look(), 3);
    rmSync(join(directory, "web.toml"));
    assert.equal(await look(), 4);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
