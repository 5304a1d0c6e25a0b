/** loopd as a process: its command line, its stop, and what a kill in the middle of a turn leaves behind. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { reply, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { TestHome } from "./support/home.ts";
import { codeOf, contentOf, LoopClient } from "./support/loop-client.ts";
import { result, startBroker } from "./support/scripted-broker.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");
const never = new Promise(() => {});

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The exit code of a process, when it has ended; null where a signal ended it. */
async function exitOf(child: ChildProcess): Promise<number | null> {
  await once(child, "exit");
  return child.exitCode;
}

async function run(...args: string[]): Promise<Finished> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)]);
  return { code, stdout, stderr };
}

/** Starts `loopd serve` and waits for its ready line. */
async function start(config: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, "serve", "--config", config], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve) => {
    child.stdout.setEncoding("utf8").once("data", resolve);
  });
  assert.match(line, /^loopd: ready on \S+\n$/u);
  return child;
}

async function kill(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
  const exited = exitOf(child);
  child.kill(signal);
  return await exited;
}

test("wrong usage exits 2 with the usage, --help exits 0, a wrong config exits 1 with one line and a pointer", async () => {
  await using home = await TestHome.make();
  for (const args of [[], ["serve"], ["dance", "--config", "x"], ["serve", "--config"], ["serve", "--fast"]]) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, /^Usage: loopd serve --config FILE/u);
  }
  const help = await run("--help");
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: /u);
  const { code, stderr } = await run("serve", "--config", home.at("nothing.toml"));
  assert.equal(code, 1);
  assert.match(stderr, /^loopd: config "[^"]+": can't be read \(ENOENT\); see docs\/runbook\.md#config-invalid\n$/u);
});

test("a second loopd on the same socket is refused, and the first goes on", async () => {
  await using home = await TestHome.make();
  const config = await home.writeConfig();
  const first = await start(config);
  const { code, stderr } = await run("serve", "--config", config);
  assert.equal(code, 1);
  assert.match(stderr, /something answers on it already; see docs\/runbook\.md#socket-refused\n$/u);
  assert.equal((await new LoopClient(home.at("run/loop/loop.sock")).ask("sessions", {})).kind, "session_list");
  assert.equal(await kill(first, "SIGTERM"), 0);
});

test("selftest says what the server is, and each mismatch is one line with a pointer", async () => {
  await using home = await TestHome.make();
  const config = await home.writeConfig("[expect]\nslots = 2\ncontext = 4096\n[limits]\nbaseline_tokens = 5\n");
  const away = await run("selftest", "--config", config);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /^loopd: nothing serves on the model's socket; see docs\/runbook\.md#model-unreachable\n$/u);
  await using _model = await startModelServer({
    script: [],
    slots: 2,
    contextTokens: 8_192,
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  const { code, stdout, stderr } = await run("selftest", "--config", config);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^server: llama-server, build "demo-model"\nslots: 2\ncontext per slot: 8192\nchat template SHA-256: [0-9a-f]{64}\nbaseline: \d+ tokens\ncompletion: .*\ncache: .*\n$/u,
  );
  const [context, baseline, ...rest] = stderr.trimEnd().split("\n");
  assert.equal(context, "loopd: context per slot: expected 4096, got 8192; see docs/runbook.md#selftest-failed");
  assert.match(baseline ?? "", /^loopd: baseline: expected at most 5 tokens, got \d+; see docs\/runbook\.md#selftest-failed$/u);
  assert.deepEqual(rest, []);
  await home.writeConfig();
  assert.equal((await run("selftest", "--config", config)).code, 0);
});

test("selftest takes a server without slots", async () => {
  await using home = await TestHome.make();
  await using _model = await startModelServer({
    script: [],
    flavour: "openai",
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  const { code, stdout } = await run("selftest", "--config", await home.writeConfig());
  assert.equal(code, 0);
  assert.match(stdout, /^server: OpenAI-compatible;.*\nbaseline: the server counts no tokens\ncompletion: streamed to its end\n$/u);
});

test("serve doesn't bind with a model server that isn't the one that the config expects, and warns of one that loses caches", async () => {
  await using home = await TestHome.make();
  const listen = { kind: "unix", path: home.at("run/infer/infer.sock") } as const;
  await using _model = await startModelServer({ script: [], slots: 2, cache: "unified", listen });
  const refused = await run("serve", "--config", await home.writeConfig("[expect]\nslots = 3\n"));
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^loopd: slots: expected 3, got 2; see docs\/runbook\.md#selftest-failed$/mu);
  assert.match(refused.stderr, /warn selftest warning="cache of slot 0 .*#model-server-settings"$/mu);
  await assert.rejects(access(home.at("run/loop/loop.sock")));
  const served = await start(await home.writeConfig("[expect]\nslots = 2\n"));
  assert.equal(await kill(served, "SIGTERM"), 0);
});

test("a loopd killed in the middle of a call or of a reply goes on with the session, and uses no call id again", async () => {
  await using home = await TestHome.make();
  const read = (path: string) => ({ name: "read_file", arguments: JSON.stringify({ path }) });
  const hanging = stream([...replySteps({ content: "one two" }).slice(0, 2), { kind: "wait", gate: never }]);
  await using model = await startModelServer({
    script: [reply({ calls: [read("/a"), read("/b")] }), hanging, reply({ calls: [read("/c")] }), reply({ content: "done" })],
    listen: { kind: "unix", path: home.at("run/infer/infer.sock") },
  });
  await using broker = await startBroker(home.at("run/broker/broker.sock"), async ({ call }, send, gone) => {
    if (call !== 1) await send(result(`result ${call}`), true);
    else await new Promise<void>((resolve) => gone.addEventListener("abort", () => resolve(), { once: true }));
  });
  const config = await home.writeConfig('[sockets]\nbroker = "../run/broker/broker.sock"\n');
  const client = new LoopClient(home.at("run/loop/loop.sock"));

  const first = await start(config);
  const inCall = client.turn("s1", "go").catch((error: unknown) => error);
  await broker.received(1);
  await kill(first, "SIGKILL");
  assert.ok((await inCall) instanceof Error);

  const second = await start(config);
  const inReply = client.turn("s1", "go on", { resume: true }).catch((error: unknown) => error);
  const request = await model.received(2);
  await kill(second, "SIGKILL");
  assert.ok((await inReply) instanceof Error);
  assert.equal(await request.ended, "client-gone");

  const third = await start(config);
  assert.equal(contentOf(await client.turn("s1", "and now", { resume: true })), "done");
  assert.deepEqual(
    broker.requests.map(({ call }) => call),
    [1, 2],
  );
  const told = model.requests[2]?.chat.messages.slice(2).map(({ role, content }) => [role, content]);
  assert.deepEqual(told, [
    ["assistant", ""],
    ["tool", "Interrupted: the call was sent, and whether it ran is unknown."],
    ["tool", "Not run: the turn ended before this call."],
    ["assistant", "[No answer: this turn ended early.]"],
    ["user", "go on"],
    ["assistant", "[No answer: this turn ended early.]"],
    ["user", "and now"],
  ]);

  // A line that the kill of a whole machine tore is refused, not guessed at.
  await appendFile(home.at("sessions/s1/0.jsonl"), '{"kind":"us');
  assert.equal(codeOf(await client.turn("s1", "and then", { resume: true })), "internal");
  assert.equal(await kill(third, "SIGTERM"), 0);
});

test("a system prompt that the config names and that is missing is refused with a pointer", async () => {
  await using home = await TestHome.make();
  const config = await home.writeConfig('system = "mine.md"\n');
  const loopd = await start(config);
  const client = new LoopClient(home.at("run/loop/loop.sock"));
  const turn = await client.turn("s1", "go");
  assert.match(
    turn.end.kind === "error" ? turn.end.body.detail : "",
    /it is missing; see docs\/runbook\.md#system-prompt-unreadable$/u,
  );
  await writeFile(home.at("etc/mine.md"), "Be kind.");
  assert.equal(await kill(loopd, "SIGTERM"), 0);
});
