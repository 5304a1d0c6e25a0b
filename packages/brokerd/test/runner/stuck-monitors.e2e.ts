import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import type { PodmanBoxes } from "../../src/runner/podman/podman-arguments.ts";
import { PodmanLauncher } from "../../src/runner/podman/podman-launcher.ts";

const ID = "ab".repeat(32);

/** Starts one child, says its id, and waits for it, as a monitor does. */
const MONITOR = `
const child = require("node:child_process").spawn("/bin/sleep", ["1000"], { argv0: process.argv.at(-1), stdio: "ignore" });
child.once("exit", () => process.exit());
child.once("spawn", () => console.log(child.pid));
`;

interface Monitor {
  readonly process: ChildProcess;
  readonly child: number;
}

async function startMonitor(name: string, child: string): Promise<Monitor> {
  const args = ["--eval", MONITOR, "--", "-c", ID, "-n", name, child];
  const monitor = spawn(process.execPath, args, { argv0: "/usr/bin/conmon", stdio: ["ignore", "pipe", "inherit"] });
  const data: readonly unknown[] = await once(monitor.stdout, "data");
  return { process: monitor, child: Number(data[0]) };
}

/** A process that nobody has waited for yet has no command line any more. */
function runs(id: number): boolean {
  const path = `/proc/${id}/cmdline`;
  return existsSync(path) && readFileSync(path, "utf8") !== "";
}

async function end({ process: monitor, child }: Monitor): Promise<void> {
  const exited = once(monitor, "exit");
  process.kill(child, "SIGKILL");
  monitor.kill("SIGKILL");
  await exited;
}

test("a sweep ends monitors that wait for what podman knows nothing of any more, and no others", async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-monitors-"));
  const program = (name: string, script: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    return path;
  };
  const instance = randomBytes(6).toString("hex");
  const told = join(folder, "told");
  const none = AbsPath.parse("/dev/null");
  const boxes: PodmanBoxes = {
    instance,
    image: "sha256:0",
    ociRuntime: null,
    user: { kind: "root", uid: 0, gid: 0 },
    limits: null,
    seccompProfile: none,
    egressProfile: none,
    egressNetwork: null,
    emptyFile: none,
  };
  const runtime = program("runtime", `echo "$@" >> ${told}`);
  const launcher = new PodmanLauncher(program("podman", ""), boxes, [], runtime, () => undefined);
  const [ours, ending, other] = await Promise.all([
    startMonitor(`boxmaker-${instance}-1`, "runc"),
    startMonitor(`boxmaker-${instance}-2`, "/usr/bin/podman"),
    startMonitor("boxmaker-0-1", "runc"),
  ]);
  try {
    const exited = once(ours.process, "exit");
    assert.equal(await launcher.sweep(), 0);
    await exited;
    while (runs(ours.child)) await new Promise(setImmediate);
    assert.equal(readFileSync(told, "utf8"), `delete --force ${ID}\n`);
    for (const { process: monitor } of [ending, other]) assert.deepEqual([monitor.exitCode, monitor.signalCode], [null, null]);
  } finally {
    if (ours.process.exitCode === null && ours.process.signalCode === null) await end(ours);
    await Promise.all([ending, other].map(end));
    rmSync(folder, { recursive: true, force: true });
  }
});
