import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import { findSnapshot } from "../src/ledger/snapshot-file.ts";
import { ask, Client, frameOf } from "./support/client.ts";
import { adminOf, brokerOf, Daemon, type Ended } from "./support/daemon.ts";
import { BoxFiles, Rig } from "./support/rig.ts";

const PRLIMIT = "/usr/bin/prlimit";

function call(files: BoxFiles, tool: "read_file" | "write_file", session = "chat-1", number = 1, content = "x"): BrokerRequest {
  const path = files.at("notes/todo.md");
  const args = tool === "read_file" ? { path } : { path, content };
  return {
    kind: "tool_request",
    body: {
      session: SessionId.parse(session),
      call: CallId.parse(number),
      turn: CallId.parse(number),
      tool,
      arguments: JSON.stringify(args),
    },
  };
}

function withGrants(): BoxFiles {
  const files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  return files;
}

/** A start that was refused: exit 1 unless said otherwise, nothing on standard output, one line that ends with a pointer. */
function assertRefused({ code, stdout, stderr }: Ended, expected: RegExp, status = 1): void {
  assert.equal(code, status, stderr);
  assert.equal(stdout, "");
  assert.match(stderr, /^brokerd: [^\n]*see docs\/runbook\.md#[a-z-]+\n$/u);
  assert.match(stderr, expected);
}

async function refusal(files: BoxFiles, expected: RegExp, toml = "", status = 1): Promise<void> {
  await using daemon = Daemon.serve(files, toml);
  assertRefused(await daemon.ended, expected, status);
}

function kinds(files: BoxFiles): readonly string[] {
  return files.records().map(({ event }) => event.kind);
}

test("brokerd prints one ready line, serves its sockets, and stops on SIGTERM with `stopped` as its last record", async () => {
  using files = withGrants();
  await using daemon = Daemon.serve(files);
  const line = await daemon.ready;
  assert.equal(line, `brokerd: ready on ${brokerOf(files)}, runtime refusing, 2 grants, audit head 1`);
  for (const socket of [brokerOf(files), adminOf(files)]) {
    assert.equal(statSync(socket).mode & 0o7777, 0o600);
    assert.equal(statSync(join(socket, "..")).mode & 0o7777, 0o700);
  }
  assert.equal(statSync(files.at("audit")).mode & 0o7777, 0o700);
  for (const name of readdirSync(files.at("audit"))) assert.equal(lstatSync(files.at(`audit/${name}`)).mode & 0o077, 0, name);
  assert.deepEqual(await ask(brokerOf(files), call(files, "read_file")), {
    kind: "tool_response",
    body: { outcome: "failed", message: "The call was allowed but not run: this box has no sandbox configured." },
  });
  daemon.kill("SIGTERM");
  const { code, stdout, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.equal(stdout, `${line}\n`);
  assert.match(stderr, /^brokerd: no \[runner\] in the config: .*#no-runner$/mu);
  assert.deepEqual(kinds(files), ["started", "grants_changed", "session_opened", "decision", "result", "stopped"]);
  assert.throws(() => lstatSync(brokerOf(files)), { code: "ENOENT" });
  assert.equal(lstatSync(files.at("audit/grants")).mode & 0o777, 0o700);
  const found = await findSnapshot(files.savedState);
  assert.equal(found.snapshot?.mark.seq, files.records().length);
});

test("SIGTERM answers what waits with shutting_down, and SIGINT stops it as cleanly", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    using files = withGrants();
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    using client = await Client.request(brokerOf(files), call(files, "write_file"));
    assert.equal((await client.next())?.message.kind, "pending_approval");
    daemon.kill(signal);
    assert.deepEqual(await client.final(), { kind: "tool_response", body: { outcome: "denied", reason: "shutting_down" } });
    assert.equal((await daemon.ended).code, 0);
    assert.deepEqual(
      files.events("approval").map(({ answer, reason }) => [answer, reason]),
      [["gone", "shutting_down"]],
    );
    assert.equal(kinds(files).at(-1), "stopped");
  }
});

test("kill -9 with a pending ask: the next start records it gone, takes the stale sockets' place, and can't approve it", async () => {
  using files = withGrants();
  const digest = await (async () => {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    using client = await Client.request(brokerOf(files), call(files, "write_file"));
    const pending = await client.next();
    assert.equal(pending?.message.kind, "pending_approval");
    if (pending?.message.kind !== "pending_approval") return assert.fail();
    const { approval } = pending.message.body;
    const block = await ask(adminOf(files), { kind: "approval", body: { approval } });
    daemon.kill("SIGKILL");
    await daemon.ended;
    return block.kind === "approval_block" ? { approval, digest: block.body.digest } : assert.fail();
  })();
  assert.ok(lstatSync(brokerOf(files)).isSocket());
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  const [gone] = files.events("approval");
  assert.deepEqual([gone?.decision, gone?.answer, gone?.by, gone?.reason], [digest.approval, "gone", "brokerd", "restart"]);
  const answer = await ask(adminOf(files), { kind: "approve", body: digest });
  assert.equal(answer.kind === "error" && answer.body.code, "no_such_approval");
  assert.equal(kinds(files).filter((kind) => kind === "approval").length, 1);
});

test("a call that ran when brokerd was killed is named at the next start, once", async () => {
  using files = withGrants();
  {
    await using rig = await Rig.open(files);
    const ran = Promise.withResolvers<void>();
    rig.runtime.answer = () => {
      ran.resolve();
      return new Promise(() => undefined);
    };
    rig.read();
    await ran.promise;
  }
  const [decision] = files.records().filter(({ event }) => event.kind === "decision");
  for (const [start, isNamed] of [true, false].entries()) {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    daemon.kill("SIGTERM");
    const { stderr } = await daemon.ended;
    const notice = `brokerd: the last brokerd ended before these calls did: read_file of decision ${decision?.seq}; see docs/runbook.md#unfinished-calls\n`;
    assert.equal(stderr.includes(notice), isNamed, `start ${start}`);
  }
});

test("a second brokerd is refused and touches nothing; the first goes on", async () => {
  using files = withGrants();
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  const before = files.records().length;
  await refusal(files, /held by another brokerd.*#audit-locked/u);
  assert.equal(files.records().length, before);
  assert.equal((await ask(adminOf(files), { kind: "status", body: {} })).kind, "status_report");
});

test("a configuration that can't be read or isn't valid is refused in one line, and nothing is made", async () => {
  using files = withGrants();
  await using missing = new Daemon(["serve", "--config", files.at("none.toml")]);
  assertRefused(await missing.ended, /none\.toml": can't be read \(ENOENT\); see docs\/runbook\.md#config-invalid/u);
  await refusal(files, /line 4: unknown key "surprise".*#config-invalid/u, "surprise = 1\n");
  await refusal(files, /line 5: approvals\.ttl_ms.*#config-invalid/u, "[approvals]\nttl_ms = 0\n");
  assert.deepEqual(readdirSync(files.path).sort(), ["etc", "grants", "notes", "work"]);
});

test("a wrong command line prints the usage and exits 2; --help prints it and exits 0", async () => {
  for (const args of [[], ["serve"], ["sevre", "--config", "x"], ["serve", "--config", "x", "y"], ["serve", "--confg", "x"]]) {
    await using daemon = new Daemon(args);
    const { code, stdout, stderr } = await daemon.ended;
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /^Usage: brokerd serve --config FILE \[--accept-break\]\n/u);
  }
  await using daemon = new Daemon(["--help"]);
  const { code, stdout } = await daemon.ended;
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: brokerd serve --config FILE \[--accept-break\]\n/u);
});

test("a broken log, or a directory that is none, is refused, naming the entry", async () => {
  using files = withGrants();
  {
    await using daemon = Daemon.serve(files);
    await daemon.ready;
    await ask(brokerOf(files), call(files, "read_file"));
    daemon.kill("SIGTERM");
    await daemon.ended;
  }
  const [day = ""] = readdirSync(files.at("audit")).filter((name) => name.endsWith(".jsonl"));
  appendFileSync(files.at(`audit/${day}`), `{"seq":1}\n{"seq":2}\n`);
  await refusal(files, /the audit log is broken: .*#audit-broken/u);
  using other = withGrants();
  writeFileSync(other.at("audit"), "a file");
  await refusal(other, /#audit-directory/u);
});

test("a socket's place that is a link, is shared, or is served by somebody else is refused, and what is there stays", async () => {
  for (const [spoil, expected] of [
    [
      (files: BoxFiles) => {
        mkdirSync(files.at("run"), { recursive: true });
        mkdirSync(files.at("elsewhere"), { mode: 0o755 });
        symlinkSync(files.at("elsewhere"), files.at("run/admin"));
      },
      /its directory is a symlink.*#socket-refused/u,
    ],
    [
      (files: BoxFiles) => {
        mkdirSync(files.at("run/admin"), { recursive: true });
        chmodSync(files.at("run/admin"), 0o777);
      },
      /its directory is shared with others.*#socket-refused/u,
    ],
    [
      (files: BoxFiles) => {
        mkdirSync(files.at("run/admin"), { recursive: true, mode: 0o700 });
        writeFileSync(adminOf(files), "a file");
      },
      /something that is no socket is at its place.*#socket-refused/u,
    ],
  ] as const) {
    using files = withGrants();
    spoil(files);
    await using daemon = Daemon.serve(files);
    const ended = await daemon.ended;
    assert.equal(ended.code, 1);
    assert.equal(ended.stdout, "");
    const last = ended.stderr.trimEnd().split("\n").at(-1) ?? "";
    assert.match(last, expected);
    // The other socket was served already: it is gone again, and the log says that brokerd ended by itself.
    assert.throws(() => lstatSync(brokerOf(files)), { code: "ENOENT" });
    assert.deepEqual(kinds(files), ["started", "stopped"]);
  }
});

test("a socket that answers already is refused, and a path that the kernel would cut", async () => {
  using files = withGrants();
  mkdirSync(files.at("run/admin"), { recursive: true, mode: 0o700 });
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen({ path: adminOf(files) }, resolve));
  await refusal(files, /something answers on it already.*#socket-refused/u);
  await new Promise((resolve) => server.close(resolve));
  const long = join(files.path, "x".repeat(100), "admin.sock");
  await refusal(files, /longer than 107 bytes.*#socket-refused/u, `[sockets]\nadmin = ${JSON.stringify(long)}\n`);
});

test("a runtime that can't be used is refused with its own pointer and exit status", async () => {
  using files = withGrants();
  const missing = files.at("no-such-toolkit.mjs");
  await refusal(files, /#toolkit-missing/u, `[runner]\nruntime = "process"\ntoolkit = ${JSON.stringify(missing)}\n`, 3);
  assert.deepEqual(kinds(files), []);
});

test("invalid grants are printed with file and line, brokerd serves all the same and denies", async () => {
  using files = withGrants();
  files.grant("broken", "read_file", "often");
  await using daemon = Daemon.serve(files);
  assert.match(await daemon.ready, /invalid grants/u);
  const answer = await ask(brokerOf(files), call(files, "read_file"));
  assert.deepEqual(answer, { kind: "tool_response", body: { outcome: "denied", reason: "grants_invalid" } });
  daemon.kill("SIGTERM");
  const { stderr } = await daemon.ended;
  assert.equal(
    stderr.match(/ error grants-invalid file=.*broken\.toml line=3 problem=.* see="?docs\/runbook\.md#grants-invalid/gu)?.length,
    1,
  );
});

test("a log whose disk fails denies everything from then on, and says so once", async () => {
  using files = withGrants();
  // The kernel's limit on a file's size stands in for a full disk: the write that passes it fails.
  await using daemon = Daemon.serve(files, "", { shell: 'trap "" XFSZ; ulimit -f 8; exec "$@"' });
  await daemon.ready;
  let reason: string | undefined;
  for (let number = 1; reason === undefined && number < 200; number++) {
    const answer = await ask(brokerOf(files), call(files, "read_file", "chat-1", number));
    if (answer.kind === "tool_response" && answer.body.outcome === "denied") reason = answer.body.reason;
  }
  assert.equal(reason, "audit_unavailable");
  const status = await ask(adminOf(files), { kind: "status", body: {} });
  assert.equal(status.kind === "status_report" && status.body.audit, "stopped");
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/ error audit-stopped /gu)?.length, 1);
  await using next = Daemon.serve(files);
  await next.ready;
});

test("on a disk that is almost full what changes something is denied and reads go on, and status says so", async () => {
  using files = withGrants();
  await using daemon = Daemon.serve(files, "[audit]\nlow_space_bytes = 9007199254740991\n");
  await daemon.ready;
  const write = await ask(brokerOf(files), call(files, "write_file", "chat-1", 1));
  assert.deepEqual(write.kind === "tool_response" && write.body, { outcome: "denied", reason: "low_space" });
  const read = await ask(brokerOf(files), call(files, "read_file", "chat-1", 2));
  assert.equal(read.kind === "tool_response" && read.body.outcome, "failed", "let through, and there is no sandbox");
  const status = await ask(adminOf(files), { kind: "status", body: {} });
  assert.equal(status.kind === "status_report" && status.body.low_space, true);
});

test("no descriptor left doesn't end it: it serves again when some are free", {
  skip: !existsSync(PRLIMIT) && `needs ${PRLIMIT}`,
}, async () => {
  using files = withGrants();
  const limits = "[limits]\nconnections = 1000\nread_deadline_ms = 3600000\n";
  await using daemon = Daemon.serve(files, limits);
  await daemon.ready;
  // Behind its back: at its start it would let fewer clients in.
  execFileSync(PRLIMIT, ["--pid", String(daemon.child.pid), "--nofile=64"]);
  using early = await Client.connect(adminOf(files));
  // Answered after the one that came before it is in.
  await ask(adminOf(files), { kind: "approvals", body: {} });
  const held = await Promise.all(Array.from({ length: 80 }, () => Client.connect(brokerOf(files))));
  for (const client of held) client.socket.on("error", () => undefined);
  // There is no descriptor for some of them: they are let go, and nothing else happens.
  assert.equal(await Promise.race(held.map((client) => client.next())), undefined);
  early.socket.write(frameOf({ kind: "approvals", body: {} }));
  assert.equal((await early.next())?.message.kind, "approval_list");
  for (const client of held) client.socket.destroy();
  for (;;) {
    using client = await Client.request(adminOf(files), { kind: "status", body: {} });
    client.socket.on("error", () => undefined);
    const answer = await client.next();
    if (answer?.message.kind === "status_report") break;
  }
  assert.equal((await ask(brokerOf(files), call(files, "read_file"))).kind, "tool_response");
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.equal(kinds(files).at(-1), "stopped");
});

test("clients can't take the last descriptor, without which a long text couldn't be kept and the log would stop", async () => {
  using files = withGrants();
  const limits = "[limits]\nconnections = 1000\nread_deadline_ms = 3600000\n";
  await using daemon = Daemon.serve(files, limits, { shell: 'ulimit -n 64; exec "$@"' });
  await daemon.ready;
  const held = await Promise.all(Array.from({ length: 80 }, () => Client.connect(brokerOf(files))));
  for (const client of held) client.socket.on("error", () => undefined);
  const refused = await Promise.race(held.map((client) => client.next()));
  assert.equal(refused?.message.kind === "error" && refused.message.body.code, "busy");
  const [first] = held;
  first?.socket.write(frameOf(call(files, "write_file", "chat-1", 1, "x".repeat(5000))));
  assert.equal((await first?.next())?.message.kind, "pending_approval");
  const report = await ask(adminOf(files), { kind: "status", body: {} });
  assert.equal(report.kind === "status_report" && report.body.audit, "open");
  for (const client of held) client.socket.destroy();
  daemon.kill("SIGTERM");
  const { code, stderr } = await daemon.ended;
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /^brokerd: [^\n]*take 2064 descriptors, and the system gives 64: a socket takes 8 connections at most; see docs\/runbook\.md#too-few-descriptors$/mu,
  );
});

test("a log reader that goes away doesn't end it", async () => {
  using files = withGrants();
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  daemon.child.stderr?.destroy();
  daemon.child.stdout?.destroy();
  for (let number = 1; number < 4; number++) await ask(brokerOf(files), call(files, "read_file", "chat-1", number));
  daemon.kill("SIGTERM");
  await new Promise((resolve) => daemon.child.once("exit", resolve));
  assert.equal(daemon.child.exitCode, 0);
  assert.equal(kinds(files).at(-1), "stopped");
});

test("a removed socket doesn't end it, and its next start makes a new one", async () => {
  using files = withGrants();
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  unlinkSync(adminOf(files));
  assert.equal((await ask(brokerOf(files), call(files, "read_file"))).kind, "tool_response");
  daemon.kill("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
});
