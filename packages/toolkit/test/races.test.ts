/** The file tools while something else changes what they look at. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { MAX_READ, readFile } from "../src/read-file.ts";
import { writeFile } from "../src/write-file.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const ROUNDS = 500;

/** Runs a step of JavaScript over and over in a process of its own, once it has said that it does. */
async function meanwhile(step: string, ...args: readonly string[]): Promise<ChildProcess & AsyncDisposable> {
  const program = `const fs = require("fs"); const a = process.argv.slice(1); process.stdout.write("x"); for (;;) { try { ${step} } catch {} }`;
  const child = spawn(process.execPath, ["-e", program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  });
}

test("a folder that is swapped with a link while a path is walked leads nowhere else", async () => {
  using folder = temporaryFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  for (const name of ["root", "root/way", "outside"]) mkdirSync(at(name));
  writeFileSync(at("root/way/file"), "inside");
  writeFileSync(at("outside/file"), "outside");
  symlinkSync(at("outside"), at("root/link"));
  const [way, link, spare] = [at("root/way"), at("root/link"), at("root/spare")];
  await using _swapping = await meanwhile(
    "fs.renameSync(a[0], a[2]); fs.renameSync(a[1], a[0]); fs.renameSync(a[0], a[1]); fs.renameSync(a[2], a[0]);",
    way,
    link,
    spare,
  );
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS || !seen.has("ok"); round++) {
    const { status, content } = readFile(`${way}/file`, [at("root")], MAX_READ);
    if (status === "ok") assert.equal(content, "inside");
    seen.add(status);
    writeFile(`${way}/file`, "inside", [at("root")]);
  }
  assert.equal(readFileSync(at("outside/file"), "utf8"), "outside");
  assert.deepEqual(readdirSync(at("outside")), ["file"]);
});

test("a file that grows and shrinks while it is read is read to a bound, or refused", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/file`;
  writeFileSync(path, "");
  await using _changing = await meanwhile(
    'fs.appendFileSync(a[0], "x".repeat(900)); if (fs.statSync(a[0]).size > 4000) fs.truncateSync(a[0], 10);',
    path,
  );
  for (let round = 0; round < ROUNDS; round++) {
    const { status, content } = readFile(path, [folder.path], 2000);
    if (status === "ok") assert.match(content, /^x{0,2000}$/u);
    else assert.equal(content, `read_file: ${path}: larger than 2000 bytes`);
  }
});

test("whoever reads a file while it is written sees one text or the other, whole", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/file`;
  const texts = ["a".repeat(10_000), "b".repeat(20_000)] as const;
  writeFileSync(path, texts[0]);
  const wrong = `${folder.path}/wrong`;
  await using _reading = await meanwhile(
    'const t = fs.readFileSync(a[0], "utf8"); if (t !== "a".repeat(10000) && t !== "b".repeat(20000)) fs.writeFileSync(a[1], t.slice(0, 100));',
    path,
    wrong,
  );
  for (let round = 0; round < 60; round++) {
    assert.equal(writeFile(path, texts[round % 2] ?? "", [folder.path]).status, "ok");
  }
  assert.deepEqual(readdirSync(folder.path), ["file"]);
});
