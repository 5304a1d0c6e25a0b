/** doctor's checks by themselves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkAudit, checkNode, checkSocket, checkToolsImage, readPlaces } from "../../src/doctor/box-checks.ts";
import { showCheck } from "../../src/doctor/check.ts";

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
