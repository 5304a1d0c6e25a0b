/** Each daemon under something that speaks as systemd does, and the unit files that are handed out for them. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceBus, SKIPPED } from "./service-bus.ts";

const PACKAGES = join(import.meta.dirname, "../../packages");
const UNITS = join(import.meta.dirname, "../../deploy/systemd");
const ANALYZE = "/usr/bin/systemd-analyze";

type Daemon = "brokerd" | "loopd" | "inferproxy";

/** The arguments of a daemon whose home is `home`; what it needs is written there. */
function argumentsOf(daemon: Daemon, home: string): readonly string[] {
  const config = join(home, `${daemon}.toml`);
  switch (daemon) {
    case "brokerd":
      writeFileSync(config, `home = ${JSON.stringify(home)}\n`);
      return ["serve", "--config", config];
    case "loopd":
      writeFileSync(config, `home = ${JSON.stringify(home)}\nmodel = "demo"\n`);
      return ["serve", "--config", config];
    case "inferproxy":
      return ["--listen", join(home, "run/infer.sock"), "--upstream", "http://127.0.0.1:9"];
    default:
      return daemon satisfies never;
  }
}

for (const daemon of ["brokerd", "loopd", "inferproxy"] as const) {
  test(`${daemon} tells systemd that it is ready, alive and stopping, and leaves no word out at SIGTERM`, {
    skip: SKIPPED,
  }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "boxmaker-service-"));
    await using bus = await ServiceBus.open("abstract");
    const environment = { PATH: process.env["PATH"], NOTIFY_SOCKET: bus.socket, WATCHDOG_USEC: "400000" };
    const child = spawn(process.execPath, [join(PACKAGES, daemon, "src/main.ts"), ...argumentsOf(daemon, folder.path)], {
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    let ready = "";
    child.stdout.on("data", (chunk: Buffer) => {
      ready += chunk.toString();
    });
    const ended = once(child, "exit");
    const isAlive = bus.until((messages) => messages.filter((message) => message === "WATCHDOG=1").length >= 2);
    await Promise.race([isAlive, ended.then(() => assert.fail(`ended instead: ${errors}`))]);
    assert.match(bus.messages[0] ?? "", /^READY=1 STATUS=ready/u, errors);
    assert.match(ready, new RegExp(`^${daemon}: ready on [^\\n]*\\n$`, "u"));
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null], errors);
    assert.ok(bus.messages.includes("STOPPING=1 STATUS=stopping"), bus.messages.join("\n"));
    assert.doesNotMatch(errors, /systemd-notify/u);
  });
}

test("brokerd goes on where systemd can't be told, and says so in one line", { skip: SKIPPED }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "boxmaker-service-"));
  const environment = { PATH: process.env["PATH"], NOTIFY_SOCKET: join(folder.path, "nobody") };
  const child = spawn(process.execPath, [join(PACKAGES, "brokerd/src/main.ts"), ...argumentsOf("brokerd", folder.path)], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  const said = Promise.withResolvers<void>();
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
    if (errors.includes('systemd-notify"')) said.resolve();
  });
  child.stdout.resume();
  await said.promise;
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null], errors);
  assert.equal(
    errors.match(/ warn notice text="systemd can't be told [^\n]*docs\/runbook\.md#systemd-notify"\n/gu)?.length,
    1,
    errors,
  );
});

function unitNames(): readonly string[] {
  return readdirSync(UNITS).filter((name) => name.endsWith(".service"));
}

test("each unit names a role, waits for its word, has its watchdog, and stops no sooner than the role may take", () => {
  assert.deepEqual(unitNames(), ["brokerd.service", "inferproxy.service", "loopd.service"]);
  for (const name of unitNames()) {
    const text = readFileSync(join(UNITS, name), "utf8");
    const role = name.replace(".service", "");
    assert.match(text, new RegExp(`^ExecStart=%h/\\S+/\\.bin/${role} `, "mu"));
    for (const line of [
      "Type=notify",
      "NotifyAccess=all",
      "WatchdogSec=60",
      "KillMode=mixed",
      "TimeoutStopSec=40",
      "UMask=0077",
      "LimitCORE=0",
    ])
      assert.ok(text.includes(`\n${line}\n`), `${name}: ${line}`);
  }
});

test("systemd takes each unit, and takes none with a misspelt key", {
  skip: !existsSync(ANALYZE) && `needs ${ANALYZE}`,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "boxmaker-units-"));
  const programs = join(folder.path, ".local/share/boxmaker/node_modules/.bin");
  mkdirSync(programs, { recursive: true });
  for (const name of unitNames()) {
    const program = join(programs, name.replace(".service", ""));
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o755);
    writeFileSync(join(folder.path, name), readFileSync(join(UNITS, name)));
  }
  const verify = (name: string): { readonly status: number | null; readonly said: string } => {
    const environment = { PATH: process.env["PATH"], HOME: folder.path, XDG_RUNTIME_DIR: folder.path };
    const run = spawnSync(ANALYZE, ["--user", "verify", join(folder.path, name)], { env: environment, encoding: "utf8" });
    return { status: run.status, said: `${run.stdout}${run.stderr}` };
  };
  for (const name of unitNames()) assert.deepEqual(verify(name), { status: 0, said: "" }, name);
  writeFileSync(
    join(folder.path, "wrong.service"),
    readFileSync(join(UNITS, "brokerd.service"), "utf8").replace("WatchdogSec=", "WatchdogSecs="),
  );
  assert.match(verify("wrong.service").said, /WatchdogSecs/u);
});
