import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { RunnerConfig } from "../../src/runner/runner-config.ts";
import { DescriptorRoom, descriptorLimit, neededDescriptors } from "../../src/socket/descriptor-limit.ts";

test("descriptorLimit() reads what the kernel says, and takes what it can't read for no limit", () => {
  assert.equal(
    descriptorLimit("Max cpu time unlimited\nMax open files            1024                 524288               files\n"),
    1024,
  );
  assert.equal(
    descriptorLimit("Max open files            unlimited            unlimited            files\n"),
    Number.POSITIVE_INFINITY,
  );
  assert.equal(descriptorLimit(""), Number.POSITIVE_INFINITY);
  assert.ok(descriptorLimit(readFileSync("/proc/self/limits", "utf8")) > 0);
});

test("neededDescriptors() counts the connections of each socket and what boxes hold, and fits a usual limit by default", () => {
  const at = AbsPath.parse("/run/x.sock");
  const limits = { connections: 256, bytes_in_flight: 1, read_deadline_ms: 1, write_deadline_ms: 1, stop_grace_ms: 1 };
  const runner = RunnerConfig.parse({ runtime: "process" });
  const sockets = { broker: at, brokerMcp: null, admin: at, approval: null };
  assert.ok(neededDescriptors({ sockets, limits, runner }) <= 1024);
  assert.equal(neededDescriptors({ sockets, limits, runner: null }), 2 * 256 + 64);
  assert.equal(neededDescriptors({ sockets: { ...sockets, brokerMcp: at }, limits, runner: null }), 3 * 256 + 64);
  assert.equal(neededDescriptors({ sockets: { ...sockets, brokerMcp: at, approval: at }, limits, runner: null }), 4 * 256 + 64);
});

test("clients may hold what boxes and the log leave, or a quarter of what there is, and a socket always takes one", () => {
  const at = AbsPath.parse("/run/x.sock");
  const limits = { connections: 256, bytes_in_flight: 1, read_deadline_ms: 1, write_deadline_ms: 1, stop_grace_ms: 1 };
  const config = { sockets: { broker: at, brokerMcp: null, admin: at, approval: null }, limits, runner: null };
  const runner = RunnerConfig.parse({ runtime: "process" });
  for (const [limit, given] of [
    [Number.POSITIVE_INFINITY, 256],
    [2 * 256 + 64, 256],
    [2 * 256 + 63, 255],
    [64, 8],
    [4, 1],
  ] as const) {
    const room = new DescriptorRoom(limit);
    assert.equal(room.connections(config), given, `${limit}`);
    assert.equal(room.notice(config).length, given < 256 ? 1 : 0);
  }
  assert.equal(new DescriptorRoom(400).connections({ ...config, runner }), 50);
  assert.equal(new DescriptorRoom(1024).connections({ ...config, runner }), 256);
  assert.equal(new DescriptorRoom(1024).connections({ ...config, runner, limits: { ...limits, connections: 3 } }), 3);
});
