/** The word to systemd, sent by systemd's own program to a real datagram socket. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openServiceManager, type ServiceManagerOptions } from "@boxmaker/edge/service-manager";
import { ServiceBus, SKIPPED } from "./service-bus.ts";

/** A clock that is late only when a test says so. */
function steppedClock(): { readonly clock: ServiceManagerOptions["clock"]; readonly waits: number[]; readonly step: () => void } {
  const waits: number[] = [];
  let wake: () => void = () => undefined;
  const clock = {
    sleep: (ms: number, signal: AbortSignal): Promise<void> => {
      waits.push(ms);
      return new Promise((resolve, reject) => {
        wake = resolve;
        signal.addEventListener("abort", () => reject(new Error("ended")), { once: true });
      });
    },
  };
  return { clock, waits, step: () => wake() };
}

function options(environment: ServiceManagerOptions["environment"], warnings: string[] = []): ServiceManagerOptions {
  return { environment, pid: 7, clock: steppedClock().clock, warn: (line) => warnings.push(line) };
}

for (const kind of ["path", "abstract"] as const) {
  test(`systemd is told ready, reloading and stopping in that order, at a socket of the kind ${kind}`, {
    skip: SKIPPED,
  }, async () => {
    await using bus = await ServiceBus.open(kind);
    const warnings: string[] = [];
    using manager = openServiceManager(options({ NOTIFY_SOCKET: bus.socket }, warnings));
    await Promise.all([manager.ready("ready on\nREADY=0"), manager.reloading(), manager.ready("ready again")]);
    await manager.stopping();
    assert.deepEqual(bus.messages, [
      String.raw`READY=1 STATUS=ready on\u000aREADY=0`,
      "RELOADING=1",
      "READY=1 STATUS=ready again",
      "STOPPING=1 STATUS=stopping",
    ]);
    assert.deepEqual(warnings, []);
  });
}

test("the watchdog is told at half of its time, from ready on and until the end", { skip: SKIPPED }, async () => {
  await using bus = await ServiceBus.open("path");
  const { clock, waits, step } = steppedClock();
  const environment = { NOTIFY_SOCKET: bus.socket, WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7" };
  const manager = openServiceManager({ ...options(environment), clock });
  assert.deepEqual(waits, []);
  await manager.ready("up");
  await manager.ready("up again");
  for (let turn = 1; turn <= 3; turn++) {
    assert.equal(waits.length, turn);
    step();
    await bus.until(() => waits.length === turn + 1 || bus.messages.length === turn + 2);
    while (waits.length <= turn) await new Promise(setImmediate);
  }
  assert.deepEqual(new Set(waits), new Set([15_000]));
  assert.equal(bus.messages.filter((message) => message === "WATCHDOG=1").length, 3);
  manager[Symbol.dispose]();
  step();
  await manager.stopping();
  assert.equal(bus.messages.filter((message) => message === "WATCHDOG=1").length, 3);
});

test("there is no watchdog for another process, or without a time", { skip: SKIPPED }, async () => {
  for (const watchdog of [{ WATCHDOG_USEC: "1000000", WATCHDOG_PID: "8" }, { WATCHDOG_USEC: "soon" }, { WATCHDOG_USEC: "0" }, {}]) {
    await using bus = await ServiceBus.open("path");
    const { clock, waits } = steppedClock();
    using manager = openServiceManager({ ...options({ NOTIFY_SOCKET: bus.socket, ...watchdog }), clock });
    await manager.ready("up");
    assert.deepEqual(waits, []);
  }
});

test("without systemd nothing is started; a NOTIFY_SOCKET that is no address is said once", async () => {
  const warnings: string[] = [];
  for (const environment of [{}, { NOTIFY_SOCKET: "" }, { NOTIFY_SOCKET: undefined }]) {
    using manager = openServiceManager({ ...options(environment, warnings), program: "/does/not/exist" });
    await manager.ready("up");
    await manager.stopping();
  }
  assert.deepEqual(warnings, []);
  using manager = openServiceManager({ ...options({ NOTIFY_SOCKET: "run\n" }, warnings), program: "/does/not/exist" });
  await manager.ready("up");
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^NOTIFY_SOCKET is "run\\u000a": expected .*; see docs\/runbook\.md#systemd-notify$/u);
});

/** A sender that says which message it was started with, and ends by itself only where that is STOPPING. */
const STUCK_SENDER = `#!/bin/sh
echo "$$ $*" >> "$NOTIFY_SOCKET"
case "$1" in STOPPING*) ;; *) exec sleep 1000 ;; esac
`;

test("a stop gives up what systemd hasn't taken: it isn't held up by a socket that nobody reads, and the end leaves no sender", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-notify-"));
  try {
    const [program, said] = [join(folder, "sender"), join(folder, "said")];
    await writeFile(program, STUCK_SENDER, { mode: 0o700 });
    await writeFile(said, "");
    const saidLines = (): readonly string[] => readFileSync(said, "utf8").split("\n").slice(0, -1);
    const warnings: string[] = [];
    const manager = openServiceManager({ ...options({ NOTIFY_SOCKET: said }, warnings), program });
    const early = [manager.ready("up"), manager.reloading(), manager.ready("up again")];
    while (saidLines().length === 0) await new Promise(setImmediate);
    await manager.stopping();
    await Promise.all(early);
    assert.deepEqual(
      saidLines().map((line) => line.replace(/^[0-9]+ /u, "")),
      ["READY=1 STATUS=up", "STOPPING=1 STATUS=stopping"],
    );
    await manager.ready("too late");
    assert.equal(saidLines().length, 2, "the last word is the last");
    manager[Symbol.dispose]();
    const other = openServiceManager({ ...options({ NOTIFY_SOCKET: said }, warnings), program });
    const unread = other.ready("up");
    while (saidLines().length === 2) await new Promise(setImmediate);
    other[Symbol.dispose]();
    await unread;
    for (const line of saidLines()) {
      const sender = Number.parseInt(line, 10);
      while (existsSync(`/proc/${sender}`)) await new Promise(setImmediate);
    }
    assert.deepEqual(warnings, []);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a notification that fails is said once, until one works again, and stops nothing", async () => {
  const warnings: string[] = [];
  using manager = openServiceManager({ ...options({ NOTIFY_SOCKET: "/nobody" }, warnings), program: "/does/not/exist" });
  await manager.ready("up");
  await manager.reloading();
  await manager.stopping();
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? "",
    /^systemd can't be told by "\/does\/not\/exist" \(.*ENOENT.*\); see docs\/runbook\.md#systemd-notify$/u,
  );
  using failing = openServiceManager({ ...options({ NOTIFY_SOCKET: "/nobody" }, warnings), program: "/bin/false" });
  await failing.ready("up");
  assert.match(warnings[1] ?? "", /ended with status 1/u);
});
