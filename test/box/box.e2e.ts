/** The whole box, end to end, as its owner uses it: every runtime that this machine has. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { auditRecords, type Ended, rolePids, Trial, trialFolder } from "./trial.ts";

const RUNTIMES = ["process", "bubblewrap", "podman"] as const;

/** Why a runtime can't be tested here. */
function missing(runtime: (typeof RUNTIMES)[number]): string | false {
  if (runtime === "bubblewrap" && spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]).status !== 0)
    return "bubblewrap is missing or can't run";
  if (runtime === "podman" && process.env["BOXMAKER_TEST_PODMAN"] !== "1")
    return "podman is tested where BOXMAKER_TEST_PODMAN=1 says that the image has been built";
  return false;
}

function events(records: Awaited<ReturnType<typeof auditRecords>>): readonly string[] {
  return records.map(({ event }) => (event.kind === "decision" ? `decision ${event.outcome} ${event.reason ?? "-"}` : event.kind));
}

function assertClean(ended: Ended): void {
  assert.match(ended.stderr, /^audit: ok, [0-9]+ records/mu, ended.stderr);
  assert.equal(ended.code, 0, ended.stderr);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

for (const runtime of RUNTIMES) {
  const skip = missing(runtime);

  test(`${runtime}: a granted file is read, and its text is in the answer alone on standard output`, { skip }, async () => {
    await using folder = await trialFolder();
    await using trial = new Trial(folder.home, ["--runtime", runtime, "--say", "read the file todo.md in my notes"]);
    const ended = await trial.ended();
    assertClean(ended);
    assert.match(ended.stdout, /water the tomatoes/u);
    assert.doesNotMatch(ended.stdout, /audit:/u);
    assert.match(ended.stderr, new RegExp(`tools: ${runtime}`, "u"));
    const seen = events(await auditRecords(folder.home));
    assert.deepEqual(seen, ["started", "grants_changed", "session_opened", "decision allowed -", "result", "stopped"]);
  });

  test(`${runtime}: a file outside the grants is denied, recorded, and the turn ends with an answer`, { skip }, async () => {
    await using folder = await trialFolder();
    const outside = join(folder.path, "outside.txt");
    await writeFile(outside, "never shown");
    await using trial = new Trial(folder.home, ["--runtime", runtime, "--say", `read the file ${outside}`]);
    const ended = await trial.ended();
    assertClean(ended);
    assert.doesNotMatch(ended.stdout + ended.stderr, /never shown/u);
    assert.match(ended.stdout, /denied/iu);
    assert.match(ended.stderr, /denied: no grant allows it/u);
    assert.ok(events(await auditRecords(folder.home)).includes("decision denied no_grant"));
  });

  test(`${runtime}: what a deny grant names is denied though another grant holds it`, { skip }, async () => {
    await using folder = await trialFolder();
    await using trial = new Trial(folder.home, ["--runtime", runtime, "--say", "read the file diary/monday.md in my notes"]);
    const ended = await trial.ended();
    assertClean(ended);
    assert.doesNotMatch(ended.stdout, /Nobody but me/u);
    assert.ok(events(await auditRecords(folder.home)).includes("decision denied denied_by_grant"));
  });

  test(`${runtime}: an ask shows the whole call, and runs only after its id is typed`, { skip }, async () => {
    await using folder = await trialFolder();
    const target = join(folder.notes, "new.md");
    await using trial = new Trial(folder.home, ["--runtime", runtime]);
    trial.type('write "buy bread" to new.md in my notes');
    const [, id = ""] = await trial.until(/^approval ([0-9]+):[\s\S]*^ {2}digest/mu);
    await trial.until(/write_file/u);
    await trial.until(new RegExp(target, "u"));
    await trial.until(/buy bread/u);
    await trial.until(/write-notes/u);
    assert.equal(await exists(target), false, "nothing runs before the answer");
    trial.type(id);
    await trial.until(/write_file: done/u);
    trial.leave();
    assertClean(await trial.ended());
    assert.equal((await readFile(target, "utf8")).trim(), "buy bread");
    const seen = events(await auditRecords(folder.home));
    assert.deepEqual(
      seen.filter((name) => name !== "session_opened" && name !== "grants_changed"),
      ["started", "decision ask -", "approval", "result", "stopped"],
    );
  });

  test(`${runtime}: an ask that is answered with anything but its id doesn't run`, { skip }, async () => {
    await using folder = await trialFolder();
    await using trial = new Trial(folder.home, ["--runtime", runtime]);
    trial.type('write "buy bread" to new.md in my notes');
    await trial.until(/^approval [0-9]+:[\s\S]*^ {2}digest/mu);
    trial.type("yes");
    await trial.until(/denied: it was refused/u);
    trial.leave();
    assertClean(await trial.ended());
    assert.equal(await exists(join(folder.notes, "new.md")), false);
  });

  test(`${runtime}: a command runs after its approval where there is a sandbox, and without one nobody is asked`, {
    skip,
  }, async () => {
    await using folder = await trialFolder();
    await using trial = new Trial(folder.home, ["--runtime", runtime]);
    trial.type(`run \`ls ${folder.notes}; ls ${folder.notes}/diary; cat /proc/net/route | wc -l\``);
    if (runtime === "process") await trial.until(/nobody was asked: that needs Podman or bubblewrap/u);
    else {
      const [, id = ""] = await trial.until(/^approval ([0-9]+):[\s\S]*^ {2}digest/mu);
      trial.type(id);
      await trial.until(/bread\.md/u);
      await trial.until(/todo\.md/u);
    }
    trial.leave();
    const ended = await trial.ended();
    assertClean(ended);
    assert.doesNotMatch(ended.stdout, /monday\.md/u, "the diary is hidden from every box");
    if (runtime === "process") assert.ok(events(await auditRecords(folder.home)).includes("decision denied no_sandbox"));
  });
}

test("a role that is killed in mid-turn is said, the log verifies, and the chat goes on", async () => {
  for (const role of ["inferproxy", "brokerd", "loopd", "demo-model"]) {
    await using folder = await trialFolder();
    await using trial = new Trial(folder.home, ["--runtime", "process"]);
    trial.type('write "buy bread" to new.md in my notes');
    await trial.until(/^approval [0-9]+:[\s\S]*^ {2}digest/mu);
    const pid = (await rolePids(trial.pid)).get(role);
    assert.ok(pid !== undefined && pid > 0, `${role} runs`);
    process.kill(pid, "SIGKILL");
    await trial.until(new RegExp(`${role} ended \\(killed by SIGKILL\\).*docs/runbook\\.md#role-ended`, "u"));
    trial.leave();
    const ended = await trial.ended();
    assert.match(ended.stderr, /^audit: ok, [0-9]+ records/mu, `${role}: ${ended.stderr}`);
    assert.equal(await exists(join(folder.notes, "new.md")), false, `${role}: nothing ran`);
  }
});

test("a second brokerd on the same home is refused in one line, and the first goes on", async () => {
  await using folder = await trialFolder();
  await using trial = new Trial(folder.home, ["--runtime", "process"]);
  trial.type("read the file todo.md in my notes");
  await trial.until(/water the tomatoes/u);
  const main = join(import.meta.dirname, "../../packages/brokerd/src/main.ts");
  const second = spawnSync(process.execPath, [main, "serve", "--config", join(folder.home, "etc/brokerd.toml")], {
    encoding: "utf8",
  });
  assert.equal(second.status, 1);
  assert.match(second.stderr, /^brokerd: [^\n]*docs\/runbook\.md#audit-locked\n$/u);
  trial.type("read the file bread.md in my notes");
  await trial.until(/350 g water/u);
  trial.leave();
  assertClean(await trial.ended());
});

test("a second trial in the same home is refused in one line, and the first goes on", async () => {
  await using folder = await trialFolder();
  await using trial = new Trial(folder.home, ["--runtime", "process"]);
  trial.type("read the file todo.md in my notes");
  await trial.until(/water the tomatoes/u);
  await using second = new Trial(folder.home, ["--runtime", "process", "--say", "hello"]);
  const refused = await second.ended();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^boxmaker: [^\n]*docs\/runbook\.md#home-in-use\n$/u);
  trial.type("read the file bread.md in my notes");
  await trial.until(/350 g water/u);
  trial.leave();
  assertClean(await trial.ended());
});

test("a box that can't start says why in its last line, and a session that can't be starts none", async () => {
  await using folder = await trialFolder();
  await using model = new Trial(folder.home, ["--runtime", "process", "--model", "nonsense", "--say", "hello"]);
  const failed = await model.ended();
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^home: [^\n]*\nboxmaker: can't use "nonsense" as model: [^\n]*#model-server-not-found\n$/u);
  await using session = new Trial(folder.home, ["--session", "../x", "--say", "hello"]);
  const refused = await session.ended();
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^boxmaker: "\.\.\/x" is no session id: [^\n]*\n$/u);
  await using flag = new Trial(folder.home, ["--runtime", "foo\u001b[2J"]);
  const usage = await flag.ended();
  assert.equal(usage.code, 2);
  assert.match(usage.stderr, /^boxmaker: option '--runtime <name>' argument 'foo\\u\{?0*1b/u);
});

test("SIGTERM stops every role and verifies the log", async () => {
  await using folder = await trialFolder();
  await using trial = new Trial(folder.home, ["--runtime", "process"]);
  trial.type("read the file todo.md in my notes");
  await trial.until(/water the tomatoes/u);
  const pids = await rolePids(trial.pid);
  assert.deepEqual([...pids.keys()].toSorted(), ["brokerd", "bxctl", "demo-model", "inferproxy", "loopd"]);
  trial.signal("SIGTERM");
  const ended = await trial.ended();
  assert.match(ended.stderr, /^audit: ok/mu);
  for (const pid of pids.values()) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  assert.equal(events(await auditRecords(folder.home)).at(-1), "stopped");
});
