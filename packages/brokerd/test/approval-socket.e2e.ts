/** approval.sock through the program: served where the configuration names it, and nowhere else. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { type ApprovalId, type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { ask, Client } from "./support/client.ts";
import { adminOf, approvalOf, brokerOf, configOf, Daemon } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

const ANNA = { id: "u-1", name: "anna" };

function write(files: BoxFiles, call: number): BrokerRequest {
  const args = { path: files.at("notes/todo.md"), content: "x" };
  const number = CallId.parse(call);
  const body = { session: SessionId.parse("chat-1"), call: number, turn: number, tool: "write_file" };
  return { kind: "tool_request", body: { ...body, arguments: JSON.stringify(args) } };
}

async function pendingOf(client: Client): Promise<ApprovalId> {
  const pending = (await client.next())?.message;
  assert.ok(pending?.kind === "pending_approval");
  return pending.body.approval;
}

test("where the configuration names no approval socket nothing is bound for one, and a running brokerd isn't given one", async () => {
  using files = new BoxFiles();
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  assert.deepEqual(readdirSync(files.at("run")).sort(), ["admin", "broker"]);
  configOf(files, `[sockets]\napproval = ${JSON.stringify(approvalOf(files))}\n`);
  daemon.kill("SIGHUP");
  while (!/config-refused keys=sockets\.approval /u.test(daemon.stderr)) await new Promise(setImmediate);
  assert.equal(existsSync(approvalOf(files)), false);
});

test("a gateway's answer is on record as the gateway's, with its user, and what it can't answer waits for the owner", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask", 'approvers = ["gateway"]');
  await using daemon = Daemon.serve(files, `[sockets]\napproval = ${JSON.stringify(approvalOf(files))}\n`);
  await daemon.ready;
  assert.equal(statSync(approvalOf(files)).mode & 0o7777, 0o600);
  assert.equal(statSync(dirname(approvalOf(files))).mode & 0o7777, 0o700);
  {
    using client = await Client.request(brokerOf(files), write(files, 1));
    const approval = await pendingOf(client);
    const shown = await ask(approvalOf(files), { kind: "ask", body: { approval } });
    assert.ok(shown.kind === "approval_block");
    const { digest } = shown.body;
    const byOwner = await ask(adminOf(files), { kind: "approve", body: { approval, digest } });
    assert.equal(byOwner.kind === "error" && byOwner.body.code, "forbidden", "the grant names the gateway alone");
    const answer = await ask(approvalOf(files), { kind: "approve_ask", body: { approval, digest, user: ANNA } });
    assert.deepEqual(answer, { kind: "approve_result", body: { outcome: "ask" } });
    assert.equal((await client.final()).kind, "tool_response");
  }
  files.grant("write", "write_file", "ask");
  {
    using client = await Client.request(brokerOf(files), write(files, 2));
    const approval = await pendingOf(client);
    const refused = await ask(approvalOf(files), { kind: "ask", body: { approval } });
    assert.equal(refused.kind === "error" && refused.body.code, "forbidden");
    assert.deepEqual(await ask(adminOf(files), { kind: "refuse", body: { approval, reason: null } }), { kind: "ok", body: {} });
  }
  assert.deepEqual(
    files.events("approval").map(({ answer, by, user }) => [answer, by, user]),
    [
      ["approved", "gateway", "u-1"],
      ["refused", "bxctl", null],
    ],
  );
});
