/** What brokerd makes of signals: a stop, a stop at once, the configuration read anew. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { ask, Client } from "./support/client.ts";
import { adminOf, brokerOf, configOf, Daemon } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

const SCRIPT = "/usr/bin/script";

function read(files: BoxFiles): BrokerRequest {
  const body = { session: SessionId.parse("chat-1"), call: CallId.parse(1), turn: CallId.parse(1), tool: "read_file" };
  return { kind: "tool_request", body: { ...body, arguments: JSON.stringify({ path: files.at("notes/todo.md") }) } };
}

/** Waits for what no event tells of. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** A toolkit that refuses what brokerd asks of it at a start, and never answers anything else. */
const STUCK_TOOLKIT = `import { readSync, writeSync } from "node:fs";
const input = Buffer.alloc(4096);
if (input.toString("utf8", 0, readSync(0, input)).includes("/opt/boxmaker/toolkit.mjs")) {
  const body = { status: "failed", content: "not granted", truncated: false };
  const done = Buffer.from(JSON.stringify({ v: 1, id: 1, final: true, kind: "box_done", body }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(done.length);
  writeSync(1, Buffer.concat([length, done]));
} else setInterval(() => undefined, 1000);
`;

/** A runtime whose boxes never end, and how long a stop lets them try. */
function stuckRunner(files: BoxFiles, graceMs: number): string {
  writeFileSync(files.at("stuck.mjs"), STUCK_TOOLKIT);
  const runner = `[runner]\nruntime = "process"\ntoolkit = ${JSON.stringify(files.at("stuck.mjs"))}\nread_file_ms = 600000\n`;
  return `${runner}[limits]\nstop_grace_ms = ${graceMs}\n`;
}

function lastEvents(files: BoxFiles): readonly string[] {
  return files
    .records()
    .map(({ event }) => event.kind)
    .slice(-2);
}

for (const [name, graceMs, signals] of [
  ["at the end of the grace, after one SIGTERM", 1, ["SIGTERM"]],
  ["at once, after a second signal", 3_600_000, ["SIGTERM", "SIGINT"]],
] as const) {
  test(`a box that doesn't end is killed ${name}; its end and brokerd's are on record and the exit status is 0`, async () => {
    using files = new BoxFiles();
    files.grant("read", "read_file", "auto");
    await using daemon = Daemon.serve(files, stuckRunner(files, graceMs));
    await daemon.ready;
    using client = await Client.request(brokerOf(files), read(files));
    await until(() => files.events("decision").length === 1);
    for (const signal of signals) {
      daemon.kill(signal);
      // The first signal has arrived when nobody new is let in.
      await until(() => !existsSync(brokerOf(files)));
    }
    const answer = await client.final();
    assert.equal(answer.kind === "tool_response" && answer.body.outcome, "failed");
    const { code, stderr } = await daemon.ended;
    assert.equal(code, 0, stderr);
    assert.deepEqual(lastEvents(files), ["result", "stopped"]);
    assert.equal(files.events("result")[0]?.status, "failed");
  });
}

function says(daemon: Daemon, pattern: RegExp): Promise<void> {
  return until(() => pattern.test(daemon.stderr) || daemon.child.exitCode !== null);
}

test("SIGHUP reads the configuration anew: applied whole, or refused in one line with nothing changed", async () => {
  using files = new BoxFiles();
  await using daemon = Daemon.serve(files, "[limits]\nconnections = 2\n");
  await daemon.ready;
  const before = files.records().length;

  configOf(files, "[limits]\nconnections = 1\nread_deadline_ms = 3600000\n");
  daemon.kill("SIGHUP");
  await says(daemon, / info config-applied changed="limits\.connections, limits\.read_deadline_ms"\n/u);
  {
    using first = await Client.connect(adminOf(files));
    first.socket.write(Buffer.alloc(1));
    using second = await Client.connect(adminOf(files));
    const refusal = await second.next();
    assert.equal(refusal?.message.kind === "error" && refusal.message.body.code, "busy");
  }

  configOf(files, '[limits]\nconnections = 200\n[sessions]\ntaint = "secret"\n');
  daemon.kill("SIGHUP");
  await says(daemon, /config-refused keys=sessions\.taint [^\n]* see="?docs\/runbook\.md#config-needs-restart"?\n/u);
  configOf(files, "[limits]\nconnections = 0\n");
  daemon.kill("SIGHUP");
  await says(daemon, /config-refused problem=[^\n]*line 5[^\n]* see="?docs\/runbook\.md#config-invalid"?\n/u);
  for (;;) {
    // The places of the connections above come back when brokerd has seen them close.
    using client = await Client.request(adminOf(files), { kind: "status", body: {} });
    client.socket.on("error", () => undefined);
    if ((await client.next())?.message.kind === "status_report") break;
  }
  {
    using first = await Client.connect(adminOf(files));
    first.socket.write(Buffer.alloc(1));
    using second = await Client.connect(adminOf(files));
    assert.equal((await second.next())?.message.kind, "error", "the limit of the last applied file holds");
  }
  assert.equal(files.records().length, before, "nothing that is judged by has changed");
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/config-(?:applied|refused)/gu)?.length, 3);
});

test("a signal during the start is heeded as soon as it is over", async () => {
  using files = new BoxFiles();
  await using daemon = Daemon.serve(files);
  await until(() => existsSync(files.at("audit")) || daemon.child.exitCode !== null);
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(lastEvents(files), ["started", "stopped"]);
  assert.throws(() => lstatSync(brokerOf(files)), { code: "ENOENT" });
});

test("a SIGHUP during the start isn't lost: the file may have changed since it was read", async () => {
  using files = new BoxFiles();
  await using daemon = Daemon.serve(files);
  await until(() => existsSync(files.at("audit")) || daemon.child.exitCode !== null);
  configOf(files, "[limits]\nconnections = 2\n");
  daemon.kill("SIGHUP");
  await says(daemon, / info config-applied changed=limits\.connections\n/u);
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
});

test("a SIGHUP while it stops changes nothing", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using daemon = Daemon.serve(files, stuckRunner(files, 3_600_000));
  await daemon.ready;
  using client = await Client.request(brokerOf(files), read(files));
  await until(() => files.events("decision").length === 1);
  daemon.kill("SIGTERM");
  await until(() => !existsSync(brokerOf(files)));
  configOf(files, stuckRunner(files, 1));
  daemon.kill("SIGHUP");
  daemon.kill("SIGINT");
  assert.equal((await client.final()).kind, "tool_response");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /config-/u);
});

test("a terminal that goes away stops brokerd", { skip: !existsSync(SCRIPT) && `needs ${SCRIPT}` }, async () => {
  using files = new BoxFiles();
  const main = new URL("../src/main.ts", import.meta.url).pathname;
  const config = configOf(files);
  const terminal = spawn(SCRIPT, ["-qec", `"${process.execPath}" "${main}" serve --config "${config}"`, "/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const line = Promise.withResolvers<string>();
  terminal.stdout.once("data", (chunk: Buffer) => line.resolve(chunk.toString()));
  assert.match(await line.promise, /brokerd: /u);
  await until(() => existsSync(adminOf(files)));
  assert.equal((await ask(adminOf(files), { kind: "status", body: {} })).kind, "status_report");
  terminal.kill("SIGKILL");
  await until(() => readdirSync(files.at("audit")).length > 0 && lastEvents(files).at(-1) === "stopped");
});
