/** doctor's checks by themselves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { attackSandbox } from "../../src/doctor/attack-checks.ts";
import { checkAudit, checkNode, checkRuntime, checkSocket, checkToolsImage, readPlaces } from "../../src/doctor/box-checks.ts";
import { type Check, showCheck } from "../../src/doctor/check.ts";
import type { Program } from "../../src/roles/role-program.ts";

function folder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "boxmaker-doctor-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

const PROCESS = { audit: "/nowhere/audit", home: "/nowhere", sockets: [], runtime: "process", image: undefined };

test("a Node that is too old is said, with what is needed", () => {
  assert.deepEqual(
    ["24.20.0", "22.99.1", "24.21.0", "26.0.0"].map((version) => checkNode(version).result),
    ["failed", "failed", "ok", "ok"],
  );
  assert.match(checkNode("22.1.0").text, /^Node 22\.1\.0: Node 24\.21 or later is needed; see docs\/runbook\.md#node-too-old$/u);
});

function saying(lines: readonly string[], status: number): Program {
  const script = `${lines.map((line) => `echo '${line}'`).join("\n")}\nexit ${status}`;
  return { command: "/bin/sh", args: ["-c", script], env: {} };
}

const finding = (box: string, result: string): string =>
  JSON.stringify({ attack: "memory", box, result, tried: "it used much", seen: "boxes have no such limit here: why" });
const GOING_ON = new AbortController().signal;

test("attacks that say nothing, or what nobody understands, are a failed check", async () => {
  const held = finding("cold", "held");
  for (const [lines, status, results] of [
    [[], 0, ["failed"]],
    [["{}"], 0, ["failed", "failed"]],
    [[held, "no JSON"], 0, ["ok", "failed"]],
    [[held], 1, ["ok", "failed"]],
    [[held, finding("waiting", "failed")], 1, ["ok", "failed"]],
    [[held], 0, ["ok"]],
  ] as const) {
    const checks: Check[] = [];
    await attackSandbox(saying(lines, status), GOING_ON, (check) => checks.push(check));
    assert.deepEqual(
      checks.map(({ result }) => result),
      results,
    );
  }
});

test("a runtime is as good as the worst of its boxes", async () => {
  const check = async (lines: readonly string[], status: number): Promise<readonly string[]> => {
    const { result, text } = await checkRuntime("", PROCESS, GOING_ON, saying(lines, status));
    return [result, text];
  };
  const held = finding("cold", "held");
  assert.deepEqual(await check([held], 0), ["ok", "process runs boxes, and their limits hold"]);
  assert.deepEqual(await check([finding("cold", "skipped")], 0), [
    "ok",
    "process runs boxes, but boxes have no such limit here: why",
  ]);
  assert.equal((await check([held, finding("waiting", "failed")], 1))[0], "failed");
  assert.equal((await check([held], 3))[0], "failed");
});

test("a configuration that can't be read or parsed is one line, and gives no places", async () => {
  using at = folder();
  const file = join(at.path, "brokerd.toml");
  const missing = await readPlaces(file);
  assert.deepEqual([missing.places, missing.check.result], [undefined, "failed"]);
  assert.match(missing.check.text, /can't be read \(ENOENT\); see docs\/runbook\.md#config-invalid$/u);
  for (const text of ["home = 1\n", "home = \n", "x = 1\n", Buffer.from([0xff])]) {
    writeFileSync(file, text);
    const { check, places } = await readPlaces(file);
    assert.deepEqual([places, check.result, check.text.includes("\n")], [undefined, "failed", false]);
  }
});

test("places are relative to the configuration's file, and by default in the home", async () => {
  using at = folder();
  const file = join(at.path, "brokerd.toml");
  writeFileSync(file, 'home = "box"\n[sockets]\nadmin = "a.sock"\n[runner]\nruntime = "podman"\nimage = "sha256:0"\n');
  const { places } = await readPlaces(file);
  assert.deepEqual(places, {
    home: join(at.path, "box"),
    audit: join(at.path, "box/audit"),
    sockets: [join(at.path, "box/run/broker/broker.sock"), join(at.path, "a.sock")],
    runtime: "podman",
    image: "sha256:0",
  });
});

test("a socket that others can reach is a failure, one that isn't there is none", async () => {
  using at = folder();
  const directory = join(at.path, "run");
  const path = join(directory, "s.sock");
  assert.equal((await checkSocket(path)).result, "skipped");
  mkdirSync(directory, { mode: 0o700 });
  const server = createServer().listen(path);
  await once(server, "listening");
  const modes = [
    [0o700, 0o600, "ok"],
    [0o710, 0o660, "ok"],
    [0o750, 0o600, "failed"],
    [0o701, 0o600, "failed"],
    [0o700, 0o662, "failed"],
  ] as const;
  for (const [ofDirectory, ofSocket, result] of modes) {
    chmodSync(directory, ofDirectory);
    chmodSync(path, ofSocket);
    assert.equal((await checkSocket(path)).result, result, `${ofDirectory.toString(8)} ${ofSocket.toString(8)}`);
  }
  server.close();
});

test("what isn't there yet is skipped, with the reason", async () => {
  assert.deepEqual(await checkToolsImage(PROCESS), { name: "image", result: "skipped", text: "process needs none" });
  const audit = await checkAudit(PROCESS, new AbortController().signal);
  assert.deepEqual([audit.result, audit.text], ["skipped", 'there is no log in "/nowhere/audit" yet']);
});

test("a line is a line, whatever was found", () => {
  const check = { name: "audit", result: "failed", text: "a\nb\u202e" } as const;
  assert.equal(showCheck(check, false), "FAILED  audit: a\\u000ab\\u202e\n");
  const json = showCheck(check, true);
  assert.match(json, /^[\x20-\x7e]+\n$/u);
  assert.deepEqual(JSON.parse(json), { result: "failed", name: "audit", text: "a\nb\u202e" });
});
