import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { readConfig } from "../../src/config/config.ts";
import { TestHome } from "../support/home.ts";

async function problem(toml: string): Promise<string> {
  await using home = await TestHome.make();
  const reading = await readConfig(await home.writeConfig(toml));
  return reading.kind === "invalid" ? reading.problem : "none";
}

test("readConfig() fills in every default, and makes paths absolute", async () => {
  await using home = await TestHome.make();
  const config = await home.config('notes_folder = "../notes"\n[sockets]\nbroker = "b.sock"\n');
  assert.equal(config.home, home.path);
  assert.equal(config.sessionsDirectory, home.at("sessions"));
  assert.equal(config.coreMemory, home.at("memory/core.md"));
  assert.deepEqual(config.system, { path: home.at("etc/system.md"), required: false });
  assert.equal(config.notesFolder, home.at("notes"));
  assert.deepEqual(config.sockets, {
    loop: home.at("run/loop/loop.sock"),
    gateway: null,
    infer: home.at("run/infer/infer.sock"),
    broker: home.at("etc/b.sock"),
  });
  assert.deepEqual(
    [config.limits.iterations, config.limits.result_bytes, config.infer.server, config.model],
    [8, 16_384, "auto", "default"],
  );
});

test("readConfig() refuses unknown keys, wrong types, zero limits and floats, each with its line", async () => {
  assert.match(await problem("[limits]\niteration = 3\n"), /line 3: unknown key "iteration"/u);
  assert.match(await problem("[limits]\niterations = 0\n"), /line 3: limits\.iterations: /u);
  assert.match(await problem("[infer]\nserver = 'ollama'\n"), /line 3: infer\.server: /u);
  assert.match(await problem("[sampling]\ntemperature = 0.7\n"), /line 3: a number with a fraction/u);
  assert.match(await problem("[sampling]\ntemperature = 'hot'\n"), /line 3: sampling\.temperature: expected a decimal number/u);
  assert.match(await problem("[slots]\nterminal = []\n"), /line 3: slots\.terminal: /u);
  assert.match(await problem("x = 1\n[limits]\ncalls = 65\n"), /line 2: unknown key "x"; line 4: limits\.calls: /u);
  assert.match(await problem('notes_folder = "a:b"\n'), /line 2: notes_folder: expected a path without/u);
});

test("readConfig() refuses a file that is missing, isn't UTF-8 or has no home, in one line", async () => {
  await using home = await TestHome.make();
  const path = home.at("etc/loopd.toml");
  const line = async (): Promise<string> => {
    const reading = await readConfig(path);
    assert.equal(reading.kind, "invalid");
    return reading.kind === "invalid" ? reading.problem : "";
  };
  assert.match(await line(), /can't be read \(ENOENT\)$/u);
  await writeFile(path, Buffer.from([0xff]));
  assert.match(await line(), /is not UTF-8$/u);
  await writeFile(path, "");
  assert.match(await line(), /home: /u);
});
