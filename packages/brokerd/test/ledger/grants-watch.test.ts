import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { completeGrant, GrantFile, type GrantSet } from "@boxmaker/policy";
import { GrantStore } from "@boxmaker/policy/grants";
import { AbsPath, sha256 } from "@boxmaker/proto";
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
    const watch = watchGrants(
      () => runtime.grantsChanged(),
      () => 0,
    );
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

function expiringSet(at: number): Extract<GrantSet, { kind: "valid" }> {
  const constraints = { hosts: ["example.com"] };
  const grant = completeGrant(GrantFile.parse({ id: "web", tool: "http_fetch", mode: "auto", expires: new Date(at), constraints }));
  const loaded = { grant, file: "web.toml", sha256: sha256(""), text: "" };
  return { kind: "valid", grants: [loaded], files: [loaded] };
}

test("watchGrants() takes a grant that expires while it is looked at, which would otherwise stop the ledger", () => {
  const looks = [1049, 1052];
  let changes = 0;
  const watch = watchGrants(
    () => changes++,
    () => looks.shift() ?? 1052,
  );
  watch(expiringSet(1050));
  assert.equal(changes, 1);
});

test("watchGrants() tells when a grant has expired, though nothing was decided since", async () => {
  const told = Promise.withResolvers<void>();
  let changes = 0;
  let time = 1000;
  const onChanged = (): void => {
    changes++;
    if (changes === 2) told.resolve();
  };
  const watch = watchGrants(onChanged, () => time);
  const set = expiringSet(1050);
  watch(set);
  watch(set);
  assert.equal(changes, 1);
  await told.promise;
  time = 1050;
  watch(set);
  assert.equal(changes, 2);
});
