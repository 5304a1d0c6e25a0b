/** How brokerd ends when it can't go on as it should: a listener that ended by itself, a stop that doesn't come to its end. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { ask, Client } from "./support/client.ts";
import { adminOf, brokerOf, configOf, Daemon, mcpOf } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

const QUICK_SYNCS = 8;
const PROGRAMS = join(import.meta.dirname, "support");

function write(files: BoxFiles, call = 1): BrokerRequest {
  const args = { path: files.at("notes/todo.md"), content: "x" };
  const body = { session: SessionId.parse("chat-1"), call: CallId.parse(call), turn: CallId.parse(call), tool: "write_file" };
  return { kind: "tool_request", body: { ...body, arguments: JSON.stringify(args) } };
}

function kinds(files: BoxFiles): readonly string[] {
  return files.records().map(({ event }) => event.kind);
}

for (const socketOf of [brokerOf, mcpOf, adminOf]) {
  test(`a listener that ends by itself ends brokerd: in one line, with 1, what waits answered, and \`stopped\` on record (${socketOf.name})`, async () => {
    using files = new BoxFiles();
    files.grant("write", "write_file", "ask");
    const socket = socketOf(files);
    await using daemon = Daemon.serve(files, `[sockets]\nbroker_mcp = ${JSON.stringify(mcpOf(files))}\n`, {
      program: join(PROGRAMS, "ended-listener-program.ts"),
      environment: { ENDED_LISTENER: socket },
    });
    await daemon.ready;
    // Node says that a listener has ended when its connections have, too.
    using client = await Client.request(socketOf === brokerOf ? mcpOf(files) : brokerOf(files), write(files));
    assert.equal((await client.next())?.message.kind, "pending_approval");
    daemon.kill("SIGUSR2");
    assert.deepEqual(await client.final(), { kind: "tool_response", body: { outcome: "denied", reason: "shutting_down" } });
    const { code, stderr } = await daemon.ended;
    assert.equal(code, 1, stderr);
    const line = `brokerd: the listener on ${JSON.stringify(socket)} ended by itself; see docs/runbook.md#listener-ended\n`;
    assert.equal(stderr.split(line).length, 2, stderr);
    assert.deepEqual(kinds(files).slice(-2), ["approval", "stopped"]);
  });
}

test("a stop that doesn't come to its end is ended after the limits of the config and ten seconds, in one line, with 1; the next start goes on", async () => {
  using files = new BoxFiles();
  {
    await using daemon = Daemon.serve(files, "[limits]\nstop_grace_ms = 3\nwrite_deadline_ms = 20\n", {
      program: join(PROGRAMS, "stuck-disk-program.ts"),
    });
    await daemon.ready;
    daemon.kill("SIGTERM");
    const { code, stderr } = await daemon.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^waits 10023\nbrokerd: didn't stop in time; see docs\/runbook\.md#brokerd-bug\n$/mu);
  }
  await startsAgain(files);
});

test("a stop on a disk that hangs is ended by SIGKILL, since an exit would wait for the disk; none of its syncs is waited for on the spot", async () => {
  using files = new BoxFiles();
  const fifo = files.at("fifo");
  execFileSync("mkfifo", [fifo]);
  {
    await using daemon = Daemon.serve(files, "", {
      program: join(PROGRAMS, "stuck-disk-program.ts"),
      environment: { STUCK_FIFO: fifo },
    });
    await daemon.ready;
    // Enough records for the disk to be known as quick.
    for (let call = 1; call <= QUICK_SYNCS; call++) await ask(brokerOf(files), write(files, call));
    daemon.kill("SIGTERM");
    const { signal, stderr } = await daemon.ended;
    assert.match(stderr, /^waits \d+\nbrokerd: didn't stop in time; see docs\/runbook\.md#brokerd-bug\n$/mu);
    assert.equal(signal, "SIGKILL", stderr);
    assert.ok(!stderr.includes("waits for ever"), stderr);
  }
  await startsAgain(files);
});

async function startsAgain(files: BoxFiles): Promise<void> {
  await using next = new Daemon(["serve", "--config", configOf(files)]);
  await next.ready;
  next.kill("SIGTERM");
  const { code, stderr } = await next.ended;
  assert.equal(code, 0, stderr);
  assert.equal(kinds(files).at(-1), "stopped");
}
