import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBytes, RunnerConfig, timeLimitMs } from "../../src/runner/runner-config.ts";

test("RunnerConfig has these defaults", () => {
  const config = RunnerConfig.parse({ runtime: "podman" });
  assert.deepEqual(config, {
    runtime: "podman",
    limits: "enforced",
    podman: "podman",
    oci_runtime: null,
    image: null,
    egress_network: null,
    egress_idle_ms: 60_000,
    bubblewrap: "bwrap",
    toolkit: null,
    output_cap: 1_048_576,
    memory: "256m",
    pids: 64,
    max_boxes: 32,
    pool: 2,
    pool_idle_ms: 60_000,
    read_file_ms: 10_000,
    write_file_ms: 10_000,
    shell_ms: 30_000,
    http_fetch_ms: 30_000,
  });
  assert.equal(timeLimitMs(config, "shell"), 30_000);
  assert.equal(timeLimitMs(config, "read_file"), 10_000);
});

test("RunnerConfig refuses zero limits, images by tag, programs that look like options, and unknown keys", () => {
  const digest = "a".repeat(64);
  const good = [
    { image: `sha256:${digest}` },
    { egress_network: "slirp4netns:mtu=1500,cidr=10.9.0.0/24" },
    { egress_network: "ns:/run/netns/web" },
    { image: `localhost/boxmaker-tools@sha256:${digest}` },
    { memory: "64m" },
    { oci_runtime: "/usr/bin/runsc" },
    { pool: 0 },
    { pool: 100, pool_idle_ms: 1 },
  ];
  for (const keys of good) assert.ok(RunnerConfig.safeParse({ runtime: "podman", ...keys }).success);
  const bad = [
    { image: "localhost/boxmaker-tools:latest" },
    { image: `sha256:${digest}0` },
    { image: `--rm@sha256:${digest}` },
    { memory: "0" },
    { memory: "0m" },
    { memory: "-1" },
    { memory: "1t" },
    { podman: "" },
    { podman: "--help" },
    { bubblewrap: "a\nb" },
    { pids: 0 },
    { max_boxes: 0 },
    { max_boxes: 1001 },
    { pool: -1 },
    { pool: 101 },
    { pool_idle_ms: 0 },
    { pool_idle_ms: 3_600_001 },
    { output_cap: 0 },
    { output_cap: 1_048_577 },
    { shell_ms: 0 },
    { read_file_ms: 3_600_001 },
    { limits: "none" },
    { toolkit: "relative" },
    { egress: true },
    { egress_network: "none" },
    { egress_network: "container:abc" },
    { egress_network: "" },
    { egress_network: "--privileged" },
    { egress_network: "a b" },
    { egress_idle_ms: 0 },
    { egress_idle_ms: 3_600_001 },
  ];
  for (const keys of bad) assert.ok(!RunnerConfig.safeParse({ runtime: "podman", ...keys }).success, JSON.stringify(keys));
  assert.ok(!RunnerConfig.safeParse({ runtime: "docker" }).success);
});

test("memoryBytes() reads the powers of 1024", () => {
  const bytes = (memory: string): number => memoryBytes(RunnerConfig.parse({ runtime: "podman", memory }));
  assert.deepEqual(["1000", "2k", "256m", "1g"].map(bytes), [1000, 2048, 268_435_456, 1_073_741_824]);
});
