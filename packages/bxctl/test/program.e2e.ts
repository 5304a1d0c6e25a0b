import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { askBlock } from "./support/asks.ts";
import { AuditFolder, STARTED } from "./support/audit-folder.ts";
import { BxctlProcess } from "./support/bxctl-process.ts";
import { listenAdmin } from "./support/scripted-server.ts";
import { tempHome } from "./support/temp-home.ts";

test("flags stand before or after the words, and a flag's value may look like a flag", async () => {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, (request) =>
    request.kind === "approval" ? askBlock() : { kind: "ok", body: {} },
  );
  for (const words of [
    ["--home", home.path, "refuse", "41", "--reason", "--no"],
    ["refuse", "--reason", "--no", "--home", home.path, "41"],
    ["refuse", "41", "--admin-socket", home.admin, "--reason=--no", "--home", "/nonexistent"],
    ["--home", "/nonexistent", "refuse", "--home", home.path, "41", "--reason", "--no"],
  ]) {
    const { status, stdout, stderr } = await BxctlProcess.run(words);
    assert.deepEqual([status, stdout, stderr], [0, "approval 41: refused, it doesn't run\n", ""]);
  }
  assert.deepEqual(
    admin.requests,
    Array.from({ length: 4 }, () => ({ kind: "refuse", body: { approval: 41, reason: "--no" } })),
  );
});

test("the home comes from $BOXMAKER_HOME", async () => {
  await using home = await tempHome();
  await using _admin = await listenAdmin(home.admin, () => ({ kind: "approval_list", body: { approvals: [] } }));
  const ran = await BxctlProcess.run(["approvals"], "", { BOXMAKER_HOME: home.path });
  assert.deepEqual(ran, { status: 0, stdout: "no call waits for an approval\n", stderr: "" });
});

test("audit verify reads the log in the home", async () => {
  await using home = await tempHome();
  await mkdir(join(home.path, "audit"));
  const sound = await BxctlProcess.run(["audit", "verify", "--home", home.path]);
  assert.equal(sound.status, 0);
  assert.match(sound.stdout, /^audit: ok, 0 records\n/u);
  const missing = await BxctlProcess.run(["audit", "verify", "--home", join(home.path, "none")]);
  assert.notEqual(missing.status, 0);
  assert.match(missing.stdout, /#audit-directory\n$/u);
});

test("audit show and audit tail read the log in the home, in the zone of the machine, and Ctrl-C ends the tail", async () => {
  await using home = await tempHome();
  await mkdir(join(home.path, "audit"));
  const folder = new AuditFolder(join(home.path, "audit")).add(STARTED);
  const zone = { TZ: "Asia/Kathmandu" };
  const shown = await BxctlProcess.run(["audit", "show", "--home", home.path, "--since", "2026-01-05T13:45"], "", zone);
  const line = "2026-01-05 13:45:00 +05:45  1  brokerd 0.1.0 started\n";
  assert.deepEqual(shown, { status: 0, stdout: line, stderr: "" });
  const later = await BxctlProcess.run(["audit", "show", "--home", home.path, "--since", "2026-01-05T13:46"], "", zone);
  assert.deepEqual(later, { status: 0, stdout: "", stderr: "" });
  await using tail = new BxctlProcess(["audit", "tail", "--home", home.path], zone);
  await tail.wrote("stdout", /started\n/u);
  folder.add({ kind: "stopped" });
  await tail.wrote("stdout", /2 {2}brokerd stopped\n/u);
  tail.signal("SIGINT");
  assert.deepEqual(await tail.finished(), {
    status: 0,
    stdout: `${line}2026-01-05 13:45:01 +05:45  2  brokerd stopped\n`,
    stderr: "",
  });
});

test("a reader that leaves early ends the program quietly", async () => {
  await using home = await tempHome();
  await using _admin = await listenAdmin(home.admin, () => ({ kind: "approval_list", body: { approvals: [] } }));
  const { execFile } = await import("node:child_process");
  const { MAIN } = await import("./support/bxctl-process.ts");
  const stderr = await new Promise<string>((resolve) => {
    execFile("sh", ["-c", `"${process.execPath}" "${MAIN}" approvals --home "${home.path}" | true`], (_error, _stdout, text) =>
      resolve(text),
    );
  });
  assert.equal(stderr, "");
});
