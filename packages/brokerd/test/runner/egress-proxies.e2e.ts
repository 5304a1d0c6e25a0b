/** Proxies from their start to their end, with scripts in the place of boxes. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Launch } from "../../src/runner/box-child.ts";
import { EgressProxies, type Lease, sweepProxyDirectories } from "../../src/runner/egress/egress-proxies.ts";
import { buildRunSpec, type RunSpec } from "../../src/runner/run-spec.ts";
import { absPath, decideCall } from "./decisions.ts";
import { countProcesses } from "./sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";
import { untilGone } from "./waiting.ts";

const NEVER = new AbortController().signal;
const LISTEN = 'require("node:net").createServer().listen(process.argv[1] + "/proxy.sock", () => console.log("ready"))';

interface Rig extends AsyncDisposable {
  readonly proxies: EgressProxies;
  readonly folder: TemporaryFolder;
  /** One line for each start: the hosts. */
  readonly starts: readonly string[];
  /** The proxies' directories. */
  directories(): readonly string[];
}

interface RigOptions {
  readonly script?: string;
  readonly program?: string;
  readonly idleMs?: number;
  readonly readyMs?: number;
}

/** A proxy is node with this script; $1 is its directory. */
async function rigOf({ script = LISTEN, program = process.execPath, idleMs = 600_000, readyMs }: RigOptions = {}): Promise<Rig> {
  const folder = temporaryFolder();
  const parent = await sweepProxyDirectories(folder.path);
  const starts: string[] = [];
  const launch = (directory: string, hosts: readonly string[]): Launch => {
    starts.push(hosts.join(" "));
    return {
      program,
      args: ["-e", script, directory],
      environment: { PATH: "/usr/bin:/bin" },
      filter: null,
      reportsChild: false,
      stop: async (killChild) => killChild(),
    };
  };
  const proxies = new EgressProxies({ parent, launch, idleMs, ...(readyMs === undefined ? {} : { readyMs }) });
  return {
    proxies,
    folder,
    starts,
    directories: () => readdirSync(parent),
    [Symbol.asyncDispose]: async () => {
      await proxies[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

interface FetchOptions {
  readonly hosts?: readonly string[];
  readonly session?: string;
  readonly label?: "public" | "private";
}

function fetchSpec({ hosts = ["example.com"], session = "test", label = "public" }: FetchOptions = {}): RunSpec {
  const call = { tool: "http_fetch", arguments: { url: "https://example.com/" }, paths: [], hosts, session, label } as const;
  return buildRunSpec(decideCall({ name: "bubblewrap", image: null }, call));
}

async function acquire({ proxies }: Rig, options: FetchOptions = {}): Promise<Extract<Lease, { kind: "ready" }>> {
  const lease = await proxies.acquire(fetchSpec(options), NEVER);
  assert.ok(lease.kind === "ready", JSON.stringify(lease));
  return lease;
}

async function problemOf(rig: Rig): Promise<string> {
  const lease = await rig.proxies.acquire(fetchSpec(), NEVER);
  assert.ok(lease.kind === "error" && lease.code === "egress_failed", JSON.stringify(lease));
  return lease.detail;
}

/** Until no proxy of the rig is left: their directories go last. */
async function untilEnded(rig: Rig, left: number = 0): Promise<void> {
  while (rig.directories().length > left) await new Promise((resolve) => setTimeout(resolve, 10));
}

test("a proxy has a directory that is the owner's alone, with its socket in it", async () => {
  await using rig = await rigOf();
  const { directory } = await acquire(rig);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(statSync(rig.folder.at("egress")).mode & 0o777, 0o700);
  assert.ok(statSync(`${directory}/proxy.sock`).isSocket());
  assert.deepEqual(rig.starts, ["example.com"]);
});

test("a proxy serves the next call, and one at the same time, of the same session, grant and hosts", async () => {
  await using rig = await rigOf();
  const [first, second] = await Promise.all([acquire(rig), acquire(rig)]);
  assert.equal(first.directory, second.directory);
  first.release();
  second.release();
  assert.equal((await acquire(rig)).directory, first.directory);
  assert.equal(rig.starts.length, 1);
});

test("another session, other hosts and another grant of the same hosts get a proxy of their own", async () => {
  await using rig = await rigOf();
  const options = [{}, { session: "other" }, { hosts: ["example.com", "*.example.net"] }, { label: "private" } as const];
  const leases = await Promise.all(options.map((one) => acquire(rig, one)));
  assert.equal(new Set(leases.map(({ directory }) => directory)).size, 4);
  assert.deepEqual([...rig.starts].sort(), ["example.com", "example.com", "example.com", "example.com *.example.net"]);
});

test("a proxy ends when it is idle, with its directory", async () => {
  await using rig = await rigOf({ idleMs: 1 });
  const first = await acquire(rig);
  const second = await acquire(rig);
  first.release();
  assert.equal(rig.directories().length, 1);
  second.release();
  await untilEnded(rig);
  await untilGone(first.directory);
  assert.notEqual((await acquire(rig)).directory, first.directory);
});

test("proxies that are idle are only so many: the one that has waited longest is ended", async () => {
  await using rig = await rigOf();
  const sessions = Array.from({ length: 9 }, (_, index) => `s${index}`);
  for (const session of sessions) (await acquire(rig, { session })).release();
  await untilEnded(rig, 8);
  await acquire(rig, { session: "s8" });
  await acquire(rig, { session: "s1" });
  assert.equal(rig.starts.length, 9);
  await acquire(rig, { session: "s0" });
  assert.equal(rig.starts.length, 10);
});

test("when grants change, an idle proxy ends at once, and one in use with its last call; none serves another", async () => {
  await using rig = await rigOf();
  const idle = await acquire(rig, { session: "idle" });
  idle.release();
  const used = await acquire(rig);
  rig.proxies.dropAll();
  await untilEnded(rig, 1);
  assert.ok(statSync(`${used.directory}/proxy.sock`).isSocket());
  const next = await acquire(rig);
  assert.notEqual(next.directory, used.directory);
  used.release();
  await untilGone(used.directory);
  assert.equal(countProcesses(next.directory), 1);
});

test("a proxy that ended by itself is not used again", async () => {
  await using rig = await rigOf({ script: `${LISTEN}; require("node:fs").watch(process.argv[1], () => process.exit())` });
  const first = await acquire(rig);
  writeFileSync(`${first.directory}/end`, "");
  await untilEnded(rig);
  first.release();
  assert.notEqual((await acquire(rig)).directory, first.directory);
});

test("a proxy that can't be started, or ends, or says something else fails the call and leaves nothing", async () => {
  const cases: readonly (readonly [RigOptions, RegExp])[] = [
    [{ program: "/nonexistent/program" }, /ENOENT/u],
    [{ script: "console.error('no such subcommand'); process.exit(2)" }, /^it ended, exit status 2: no such subcommand$/u],
    [{ script: "process.kill(process.pid, 'SIGKILL')" }, /^it ended, SIGKILL: $/u],
    [{ script: "console.log('rea\\ndy'); setInterval(() => 0, 1000)" }, /^it said "rea\\u000ady\\u000a"$/u],
    [{ script: "process.stdout.write('x'.repeat(1e6)); setInterval(() => 0, 1000)" }, /^it said "x{100}"$/u],
    [{ script: "console.log('ready'); setInterval(() => 0, 1000)" }, /^its socket is not there$/u],
    [
      { script: "require('node:fs').writeFileSync(process.argv[1] + '/proxy.sock', ''); console.log('ready')" },
      /^its socket is something else$|^it ended/u,
    ],
  ];
  for (const [options, expected] of cases) {
    await using rig = await rigOf(options);
    assert.match(await problemOf(rig), expected);
    await untilEnded(rig);
    // The next call tries again.
    assert.match(await problemOf(rig), expected);
    assert.equal(rig.starts.length, 2);
  }
});

test("a proxy that isn't ready in time fails the call and is ended", async () => {
  await using rig = await rigOf({ script: "console.error('still busy'); setInterval(() => 0, 1000)", readyMs: 500 });
  assert.match(await problemOf(rig), /^not ready after 500 ms: /u);
  await untilEnded(rig);
  await untilGone(rig.folder.path);
});

test("a call that is cancelled doesn't wait for its proxy, and none is started when brokerd is stopping", async () => {
  await using rig = await rigOf({ script: "setInterval(() => 0, 1000)" });
  const abort = new AbortController();
  const waiting = rig.proxies.acquire(fetchSpec(), abort.signal);
  abort.abort();
  const cancelled = await waiting;
  assert.ok(cancelled.kind === "error" && cancelled.code === "cancelled");
  await rig.proxies[Symbol.asyncDispose]();
  assert.deepEqual(rig.directories(), []);
  const late = await rig.proxies.acquire(fetchSpec(), NEVER);
  assert.ok(late.kind === "error" && late.code === "cancelled");
  assert.ok(rig.starts.length <= 1);
});

test("a place where no directory can be made fails the call", async () => {
  await using rig = await rigOf();
  const parent = rig.folder.at("egress");
  rmSync(parent, { recursive: true });
  assert.match(await problemOf(rig), /ENOENT/u);
  assert.deepEqual(rig.starts, []);
  writeFileSync(parent, "");
  assert.equal(await sweepProxyDirectories(absPath(rig.folder.path)), parent);
  assert.deepEqual(readdirSync(parent), []);
});
