/** The packed box: made, installed into an empty folder with an empty home, and run, on a Node that is new enough and on one that isn't. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { REPOSITORY } from "../architecture/seeded-tree.ts";
import { serveRegistry } from "./loopback-registry.ts";
import { makeNodePackage, writeOldNode } from "./old-node.ts";

const PROGRAMS = ["boxmaker", "brokerd", "bxctl", "gatewayd", "inferproxy", "loopd"];

const folder = mkdtempSync(join(tmpdir(), "boxmaker-pack-"));
const home = join(folder, "home");
const project = join(folder, "project");
const programs = join(project, "node_modules", ".bin");
const installed = join(project, "node_modules", "boxmaker");

const oldNode = writeOldNode(folder);
const environment = { PATH: process.env["PATH"] ?? "", HOME: home };

async function installTarball(tarball: string): Promise<void> {
  await using registry = await serveRegistry(REPOSITORY, [makeNodePackage(folder)]);
  const options = [
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    `--cache=${join(folder, "cache")}`,
    `--registry=${registry.url}`,
  ];
  await promisify(execFile)("npm", ["install", ...options, tarball], { cwd: project, env: environment });
  const ours = [...registry.missing].filter((name) => name.startsWith("@boxmaker/"));
  assert.deepEqual(ours, [], "our own packages come out of the tarball, not out of a registry");
}

function run(program: string, ...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [join(programs, program), ...args], { env: environment, cwd: home, encoding: "utf8" });
}

function runOnOldNode(program: string, ...args: readonly string[]): ReturnType<typeof run> {
  const argv = ["--require", oldNode, join(installed, "bin", `${program}.cjs`), ...args];
  return spawnSync(process.execPath, argv, { env: environment, cwd: home, encoding: "utf8" });
}

before(async () => {
  mkdirSync(home);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), "{}");
  await promisify(execFile)(process.execPath, ["tools/pack.ts"], { cwd: REPOSITORY });
  const [tarball, ...others] = globSync("build/boxmaker-*.tgz", { cwd: REPOSITORY });
  assert.equal(typeof tarball, "string");
  assert.deepEqual(others, []);
  await installTarball(join(REPOSITORY, tarball ?? ""));
});

after(() => {
  rmSync(folder, { recursive: true });
});

test("the packed box installs every program, and nothing else under its names", () => {
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { bin: Record<string, string> };
  assert.deepEqual(Object.keys(manifest.bin).sort(), PROGRAMS);
  for (const program of PROGRAMS) assert.equal(existsSync(join(programs, program)), true, program);
});

test("the packed box carries the toolkit's bundle, the runbook and the licence", () => {
  for (const path of ["node_modules/@boxmaker/toolkit/dist/toolkit.mjs", "docs/runbook.md", "LICENSE"]) {
    assert.equal(existsSync(join(installed, path)), true, path);
  }
});

test("the packed box holds no TypeScript source and no test", () => {
  const sources = globSync("{bin,node_modules/@boxmaker}/**/*.{ts,test.js,e2e.js}", { cwd: installed });
  assert.deepEqual(
    sources.filter((path) => !path.endsWith(".d.ts")),
    [],
  );
});

for (const program of ["boxmaker", "bxctl"]) {
  test(`${program} --help runs from the packed box`, () => {
    const { status, stdout, stderr } = run(program, "--help");
    assert.equal(stderr, "");
    assert.match(stdout, new RegExp(`^Usage: ${program}`, "u"));
    assert.equal(status, 0);
  });

  test(`${program} --help on an old Node runs under the Node that was installed with it`, () => {
    const { status, stdout, stderr } = runOnOldNode(program, "--help");
    assert.equal(stderr, "");
    assert.match(stdout, new RegExp(`^Usage: ${program}`, "u"));
    assert.equal(status, 0);
  });
}

test("a program's exit status comes through the launcher, on either Node", () => {
  assert.equal(run("gatewayd").status, 1);
  const { status, stderr } = runOnOldNode("gatewayd");
  assert.equal(status, 1);
  assert.match(stderr, /^gatewayd: isn't built yet/u);
});

for (const [name, runTry] of [
  ["", run],
  [" started on an old Node", runOnOldNode],
] as const) {
  test(`boxmaker try${name} reads a note from the packed box, and its log verifies`, () => {
    const box = join(folder, `box${name.length}`);
    const say = "read the file todo.md in my notes";
    const { status, stdout, stderr } = runTry(
      "boxmaker",
      "try",
      "--home",
      box,
      "--model",
      "demo",
      "--runtime",
      "process",
      "--say",
      say,
    );
    const note = readFileSync(join(box, "notes", "todo.md"), "utf8").trim();
    assert.equal(stdout.includes(note), true, `${stdout}${stderr}`);
    assert.match(stderr, /^audit: ok, [0-9]+ records$/mu);
    assert.equal(status, 0);
  });
}
