import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { findParentBinding, parentBinding } from "../../src/runner/parent-binding.ts";
import { countProcesses } from "./sandboxes.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { untilGone } from "./waiting.ts";

const skip = spawnSync("setpriv", ["--version"]).status !== 0 && "needs setpriv, of util-linux";

function run(parent: number, ...command: readonly string[]): number | null {
  const [program = "", ...args] = [...parentBinding(parent), ...command];
  return spawnSync(program, args).status;
}

test("a program that is bound to its parent is started with its arguments as they are", { skip }, async () => {
  using folder = temporaryFolder();
  assert.deepEqual(await findParentBinding(), parentBinding(process.pid));
  assert.equal(run(process.pid, "touch", folder.at("it's $HOME")), 0);
  assert.ok(existsSync(folder.at("it's $HOME")));
  assert.equal(run(process.pid, "/bin/sh", "-c", "exit 126"), 126);
});

test("a program whose parent is gone before it was bound to it isn't started", { skip }, () => {
  using folder = temporaryFolder();
  assert.notEqual(run(1, "touch", folder.at("started")), 0);
  assert.ok(!existsSync(folder.at("started")));
});

test("a program that is bound to its parent is killed with it", { skip }, async () => {
  const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
  const program = `
    const { spawn } = require("node:child_process");
    const [program, ...args] = ${JSON.stringify(parentBinding(0))};
    args[args.length - 1] = String(process.pid);
    spawn(program, [...args, "sleep", process.argv[1]], { stdio: "ignore", detached: true });
    setInterval(() => 0, 1000);`;
  const parent = spawn(process.execPath, ["-e", program, marker], { stdio: "ignore" });
  const exited = once(parent, "exit");
  while (countProcesses(`sleep ${marker}`) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  parent.kill("SIGKILL");
  await exited;
  await untilGone(marker);
});
