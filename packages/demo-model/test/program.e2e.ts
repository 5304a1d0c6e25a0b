import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask } from "./support/client.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`demo-model says where it is, answers, and ends with 0 on ${signal}`, async () => {
    const child = spawn(process.execPath, [MAIN, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"], env: {} });
    try {
      const line = await new Promise((resolve) => {
        child.stdout.once("data", resolve);
      });
      const url = /^demo-model: ready on (?<url>http:\/\/127\.0\.0\.1:[1-9][0-9]*)\n$/u.exec(String(line))?.groups?.["url"] ?? "";
      assert.equal((await ask({ url }, "GET", "/health")).status, 200);
      child.kill(signal);
      assert.deepEqual(await once(child, "exit"), [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });
}

for (const [args, code] of [
  [[], 2],
  [["--port", "x"], 2],
  [["--port", "1", "--socket", "/x"], 2],
  [["--socket", "relative.sock"], 2],
  [["--socket", "/nowhere/at/all.sock"], 1],
] as const) {
  test(`demo-model ends with ${code} and one line when called with ${JSON.stringify(args)}`, async () => {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "inherit", "pipe"], env: {} });
    const [stderr] = await Promise.all([text(child.stderr), once(child, "exit")]);
    assert.equal(child.exitCode, code);
    assert.match(stderr, /^demo-model: [^\n]*see docs\/runbook\.md#demo-model-start\n$/u);
  });
}
