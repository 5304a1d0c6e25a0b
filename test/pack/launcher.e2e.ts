/** The launcher of installed programs: which Node it takes, and what comes through it. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { makeFolder, REPOSITORY, type SeededTree } from "../architecture/seeded-tree.ts";
import { makeNodePackage, writeOldNode } from "./old-node.ts";

/** Says which version it believes to run on, then waits for a line or a signal. */
const MAIN = `
process.once("SIGTERM", () => process.exit(7));
process.stdin.once("data", (line) => process.exit(Number(String(line))));
process.stdout.write(process.versions.node + " " + process.argv.slice(2).join(" ") + "\\n");
`;

function makeProgram(): SeededTree {
  const folder = makeFolder({ "main.mjs": MAIN, "program.cjs": 'require("./launch.cjs").launch(__filename, "./main.mjs");' });
  copyFileSync(join(REPOSITORY, "tools/launcher/launch.cjs"), join(folder.root, "launch.cjs"));
  mkdirSync(join(folder.root, "node_modules"));
  return folder;
}

function start(root: string, ...nodeOptions: readonly string[]): ChildProcess & { stdout: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, [...nodeOptions, join(root, "program.cjs"), "one", "two words"], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  return child;
}

test("a program that is started by a new enough Node runs in that process", async () => {
  using folder = makeProgram();
  const child = start(folder.root);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  assert.equal(line.toString(), `${process.versions.node} one two words\n`);
  child.stdin?.write("0\n");
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("a program that is started by an old Node runs under the Node beside it, with its arguments, input and exit status", async () => {
  using folder = makeProgram();
  makeNodePackage(join(folder.root, "node_modules"));
  const child = start(folder.root, "--require", writeOldNode(folder.root));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  assert.equal(line.toString(), `${process.versions.node} one two words\n`);
  child.stdin?.write("3\n");
  assert.deepEqual(await once(child, "exit"), [3, null]);
});

test("a signal to the launcher reaches the program under the other Node", async () => {
  using folder = makeProgram();
  makeNodePackage(join(folder.root, "node_modules"));
  const child = start(folder.root, "--require", writeOldNode(folder.root));
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [7, null]);
});

test("an old Node without another beside it is refused in one line that says what to install", async () => {
  using folder = makeProgram();
  const child = start(folder.root, "--require", writeOldNode(folder.root));
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    child.stderr === null ? "" : text(child.stderr),
    once(child, "exit"),
  ]);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    "program: cannot run on Node 20.20.2, install Node 24.21 or later, or npm's optional dependencies; see docs/runbook.md#node-too-old\n",
  );
  assert.equal(child.exitCode, 1);
});

test("a script that runs TypeScript refuses an old Node in the same line, and lets a new one pass in silence", () => {
  using folder = makeFolder({});
  const script = join(REPOSITORY, "tools/need-node.cjs");
  const old = spawnSync(process.execPath, ["--require", writeOldNode(folder.root), script], { encoding: "utf8" });
  assert.equal(old.status, 1);
  assert.match(old.stderr, /^boxmaker: cannot run on Node 20\.20\.2, [^\n]*docs\/runbook\.md#node-too-old\n$/u);
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: "", stderr: "" });
});
