import assert from "node:assert/strict";
import { lstat, mkdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "@boxmaker/edge/log";
import { Events } from "../src/events.ts";
import { serve } from "../src/socket/serve.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { scratch, startProxy } from "./support/peers.ts";

test("serve() makes its socket's directory 0700 and its socket 0600", async () => {
  await using proxy = await startProxy("http://127.0.0.1:9");
  assert.equal((await stat(join(proxy.path, ".."))).mode & 0o7777, 0o700);
  assert.equal((await lstat(proxy.path)).mode & 0o7777, 0o600);
});

test("serve() refuses a directory that is a link", async () => {
  await using directory = await scratch();
  await mkdir(join(directory.path, "real"));
  await symlink(join(directory.path, "real"), join(directory.path, "run"));
  const clock = new FakeClock();
  const result = await serve({
    listenPath: join(directory.path, "run", "infer.sock"),
    upstream: { url: "http://h", transport: "tcp", host: "h", port: 80, authority: "h" },
    ca: null,
    apiKey: null,
    limits: { maxConnections: 1, ratePerSecond: 1, burst: 1 },
    clock,
    events: new Events(
      openLog(
        () => undefined,
        () => clock.now(),
      ),
    ),
  });
  assert.ok(result.kind === "refused");
  assert.equal(result.refusal.runbook, "docs/runbook.md#inferproxy-socket");
});
