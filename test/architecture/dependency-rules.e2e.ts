/** The dependency rules are only as good as the faults they are seen to report. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLEAN, makeTree, REPOSITORY, type Seeds } from "./seeded-tree.ts";

/** Runs it as the gate does: with `--output-type json` it would succeed whatever it found. */
function cruise(root: string): { readonly status: number | null; readonly output: string } {
  const run = spawnSync("depcruise", ["packages"], { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
  return { status: run.status, output: `${run.stdout}${run.stderr}` };
}

/** Per rule, files that break it; the first line of each is the fault. */
const FAULTS: Readonly<Record<string, Seeds>> = {
  "a-role-imports-proto-and-no-other-role": {
    "packages/loopd/src/other-role.ts": 'export type { Ledger } from "../../brokerd/src/index.ts";',
    "packages/bxctl/src/other-role.ts": 'export const late = import("../../loopd/src/turn.ts");',
  },
  "libraries-import-no-role": {
    "packages/proto/src/up.ts": 'import "@boxmaker/edge/log";',
    "packages/edge/src/log/up.ts": 'import "../../../loopd/src/turn.ts";',
  },
  "tests-import-their-own-role": { "packages/bxctl/test/peer.test.ts": 'import "../../loopd/src/turn.ts";' },
  "demo-model-serves-tests-of-loopd-and-inferproxy": {
    "packages/loopd/src/demo.ts": 'import "@boxmaker/demo-model";',
    "packages/bxctl/test/demo.test.ts": 'import "@boxmaker/demo-model";',
  },
  "no-deep-import-past-exports": { "packages/loopd/src/deep.ts": 'import "../../proto/src/two.ts";' },
  "no-relative-import-across-packages": { "packages/loopd/src/relative.ts": 'import "../../proto/src/index.ts";' },
  // Takes the place of the chicken below, which needs no egg.
  "no-cycle": { "packages/proto/src/chicken.ts": 'export type { Egg } from "./egg.ts";\nexport type Chicken = "chicken";' },
  "no-unresolvable": { "packages/loopd/src/past-exports.ts": 'import "@boxmaker/proto/src/two.ts";' },
  "src-imports-no-test-nor-tool": { "packages/loopd/src/test-code.ts": 'import "../test/fakes/clock.ts";' },
  "src-imports-no-dev-dependency": { "packages/loopd/src/dev.ts": 'import "fast-check";' },
  "main-is-imported-by-nobody": { "packages/loopd/src/starts.ts": 'import "./main.ts";' },
  "only-the-ledger-records": {
    "packages/brokerd/src/socket/records.ts": 'import "../ledger/recorder.ts";',
    "packages/brokerd/src/calls/appends.ts": 'import type { AuditLog } from "../audit/audit-log.ts";\nexport type Log = AuditLog;',
    "packages/brokerd/src/approvals/raises.ts": 'import "../ledger/session-states.ts";',
  },
  "child-process-only-in-runners": {
    "packages/brokerd/src/socket/spawns.ts": 'import "node:child_process";',
    "packages/loopd/src/spawns.ts": 'export const late = import("child_process");',
  },
  "sockets-only-in-socket-modules": {
    "packages/loopd/src/turn/connects.ts": 'import "node:net";',
    "packages/toolkit/src/connects.ts": 'import "net";',
  },
  "network-only-where-a-role-has-one": {
    "packages/loopd/src/socket/http.ts": 'import "node:http";',
    "packages/loopd/src/socket/tls.ts": 'import "node:tls";',
    "packages/loopd/src/socket/dns.ts": 'import "node:dns/promises";',
    "packages/loopd/src/socket/dgram.ts": 'import "node:dgram";',
    "packages/brokerd/src/ledger/https.ts": 'import "node:https";',
  },
  "proto-is-pure": { "packages/proto/src/reads.ts": 'import "node:fs";', "packages/proto/src/waits.ts": 'import "node:timers";' },
  "policy-imports-no-role": { "packages/policy/src/grants/up.ts": 'import "../../../loopd/src/turn.ts";' },
  "policy-is-for-those-who-decide-or-explain": { "packages/loopd/src/decides.ts": 'import "@boxmaker/policy";' },
  "policy-is-pure": { "packages/policy/src/rules/reads.ts": 'import "node:fs/promises";' },
  "policy-reaches-no-io": {
    "packages/policy/src/rules/by-neighbour.ts": 'import "../grants/reads.ts";',
    "packages/policy/src/rules/by-library.ts": 'import "@boxmaker/edge/log";',
  },
};

/** What the faults above import, and what looks like a fault and is allowed. */
const SURROUNDINGS: Seeds = {
  "packages/boxmaker/src/starts-roles.ts": 'import "node:child_process";',
  "packages/brokerd/src/index.ts": "export type Ledger = 1;",
  "packages/brokerd/src/ledger/ledger-lock.ts": 'import "node:child_process";',
  "packages/brokerd/src/ledger/writes.ts": 'import "node:fs";',
  "packages/brokerd/src/audit/audit-log.ts": "export type AuditLog = 1;",
  "packages/brokerd/src/ledger/recorder.ts": 'import "../audit/audit-log.ts";',
  "packages/brokerd/src/ledger/session-states.ts": "export type SessionStates = 1;",
  "packages/policy/src/rules/index.ts": "export type Grant = 1;",
  "packages/policy/src/rules/hashes.ts": 'import "node:crypto";\nimport "@boxmaker/proto";',
  "packages/policy/src/grants/reads.ts": 'import "node:fs";',
  "packages/brokerd/src/runner/starts.ts": 'import "node:child_process";',
  "packages/brokerd/src/serve.ts": 'import type { Server } from "node:net";\nexport type Listening = Server;',
  "packages/brokerd/src/socket/serves.ts": 'import "node:net";',
  "packages/demo-model/src/index.ts": 'import "node:http";',
  "packages/edge/src/log/index.ts": 'import "node:fs";\nimport "@boxmaker/proto";',
  "packages/edge/src/socket/index.ts": 'import "node:net";',
  "packages/loopd/src/logs.ts": 'import "@boxmaker/edge/log";\nimport "@boxmaker/edge/socket";',
  "packages/loopd/src/socket/connects.ts": 'import "node:net";',
  "packages/loopd/src/turn.ts": "export type Turn = 1;",
  "packages/loopd/test/demo.test.ts": 'import "@boxmaker/demo-model";\nimport "../src/turn.ts";\nimport "fast-check";',
  "packages/loopd/test/fakes/clock.ts": "export type Clock = 1;",
  "packages/proto/src/chicken.ts": 'export type Chicken = "chicken";',
  "packages/proto/src/egg.ts": 'export type { Chicken } from "./chicken.ts";\nexport type Egg = "egg";',
  "packages/proto/src/hashes.ts": 'import "node:crypto";',
};

test("the dependency rules report nothing in a tree that keeps them", () => {
  using tree = makeTree(CLEAN, SURROUNDINGS);
  const { status, output } = cruise(tree.root);
  assert.match(output, /no dependency violations found \([1-9][0-9] modules/u);
  assert.equal(status, 0);
});

test("each dependency rule reports each of its planted faults", () => {
  using tree = makeTree(CLEAN, SURROUNDINGS, ...Object.values(FAULTS));
  const { status, output } = cruise(tree.root);
  assert.notEqual(status, 0);
  for (const [rule, files] of Object.entries(FAULTS)) {
    for (const file of Object.keys(files)) {
      assert.equal(output.includes(`error ${rule}: ${file}`), true, `${rule} must report ${file}:\n${output}`);
    }
  }
});

test("every dependency rule has a planted fault", () => {
  const configuration = JSON.parse(readFileSync(join(REPOSITORY, ".dependency-cruiser.json"), "utf8")) as {
    forbidden: { name: string; severity: string }[];
  };
  assert.deepEqual(Object.keys(FAULTS).sort(), configuration.forbidden.map(({ name }) => name).sort());
  assert.deepEqual(new Set(configuration.forbidden.map(({ severity }) => severity)), new Set(["error"]));
});
