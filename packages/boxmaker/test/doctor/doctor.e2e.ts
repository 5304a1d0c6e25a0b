/** `boxmaker doctor` as a program. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const MAIN = join(import.meta.dirname, "..", "..", "src", "main.ts");

function home(runner: string): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "boxmaker-doctor-"));
  mkdirSync(join(path, "etc"));
  writeFileSync(join(path, "etc/brokerd.toml"), `home = ${JSON.stringify(path)}\n${runner}`);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

function doctor(...args: readonly string[]): { readonly status: number | null; readonly lines: readonly string[] } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "doctor", ...args], { encoding: "utf8" });
  assert.equal(stderr, "");
  return { status, lines: stdout.trimEnd().split("\n") };
}

test("tells of each thing in a line, and leaves the home as it is", () => {
  using at = home('[runner]\nruntime = "process"\n');
  const { status, lines } = doctor("--home", at.path);
  assert.equal(status, 0, lines.join("\n"));
  assert.deepEqual(
    lines.map((line) => /^(?:ok {5}|skipped|FAILED ) (?<name>[a-z]+): ./u.exec(line)?.groups?.["name"]).slice(0, -1),
    ["node", "config", "runtime", "image", "socket", "socket", "audit", "model"],
  );
  assert.match(lines.at(-1) ?? "", /^nothing failed, \d+ skipped$/u);
  assert.deepEqual(readdirSync(at.path), ["etc"]);
});

test("fails where the runtime can't be used, and says what to do", () => {
  using at = home('[runner]\nruntime = "bubblewrap"\nbubblewrap = "/nowhere/bwrap"\n');
  for (const more of [[], ["--attack"]]) {
    const { status, lines } = doctor("--home", at.path, ...more);
    assert.equal(status, 1);
    assert.equal(
      lines.filter((line) => line.startsWith("FAILED ") && line.includes("docs/runbook.md#bubblewrap-unusable")).length,
      1,
    );
  }
});

test("fails where there is no sandbox, or no configuration", () => {
  using at = home("");
  assert.match(doctor("--home", at.path, "--attack").lines.join("\n"), /^FAILED {2}attack: no \[runner\]/u);
  assert.equal(doctor("--config", join(at.path, "none.toml")).status, 1);
  assert.equal(doctor("--config", join(at.path, "none.toml"), "--attack").status, 1);
});

test("shows each attack, as text and as JSON", () => {
  using at = home('[runner]\nruntime = "process"\n');
  const { status, lines } = doctor("--home", at.path, "--attack", "--json");
  assert.equal(status, 0, lines.join("\n"));
  const checks = lines.map((line): unknown => JSON.parse(line));
  assert.ok(checks.length > 20);
  const held = lines.filter((line) => line.includes('"result":"ok"')).length;
  assert.equal(held, 3);
});
