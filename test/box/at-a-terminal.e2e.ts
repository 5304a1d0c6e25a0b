/** A trial at a real terminal: what is said while a person types, and Ctrl-C before there is anything to type. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { auditRecords, rolePids, Trial, trialFolder } from "./trial.ts";

const SCRIPT = "/usr/bin/script";
const MAIN = join(import.meta.dirname, "../../packages/boxmaker/src/main.ts");

test("the end of a role isn't written into what is being typed; it is said when the chat is over", {
  skip: !existsSync(SCRIPT) && `needs ${SCRIPT}`,
}, async () => {
  await using folder = await trialFolder();
  const command = `exec "${process.execPath}" "${MAIN}" try --home "${folder.home}" --model demo --runtime process`;
  const terminal = spawn(SCRIPT, ["-qec", command, "/dev/null"], {
    env: { ...process.env, TERM: "xterm", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  let look: () => void = () => undefined;
  terminal.stdout.on("data", (chunk: Buffer) => {
    shown += chunk.toString();
    look();
  });
  const closed = once(terminal, "close").then(() => look());
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      assert.equal(terminal.exitCode, null, shown);
      await new Promise<void>((resolve) => {
        look = resolve;
      });
    }
  };
  try {
    await until(() => shown.includes("/quit leaves"));
    const boxmaker = (await rolePids(terminal.pid ?? 0)).get("boxmaker") ?? assert.fail(shown);
    const loopd = (await rolePids(boxmaker)).get("loopd") ?? assert.fail(shown);
    process.kill(loopd, "SIGKILL");
    const log = join(folder.home, "roles.log");
    while (!/^boxmaker \| loopd ended \(killed by SIGKILL\)/mu.test(readFileSync(log, "utf8"))) await new Promise(setImmediate);
    const before = shown.length;
    terminal.stdin.write("/quit\r");
    await closed;
    assert.doesNotMatch(shown.slice(0, before), /loopd ended/u);
    assert.match(shown.slice(before), /boxmaker: loopd ended \(killed by SIGKILL\)[^\n]*#role-ended\r?\n[\s\S]*^audit: ok/mu);
  } finally {
    terminal.kill("SIGKILL");
  }
});

test("Ctrl-C during the start ends it: what was started is stopped, and nothing else is", async () => {
  await using folder = await trialFolder();
  await using trial = new Trial(folder.home, ["--runtime", "process"]);
  await trial.until(/^home: /mu);
  trial.signal("SIGINT");
  const { code, stdout, stderr } = await trial.ended();
  assert.equal(code, 1, stderr);
  assert.equal(stdout, "");
  assert.match(stderr, /^boxmaker: told to end before the chat began\n$/mu);
  assert.doesNotMatch(stderr, /session |audit: /u);
  const records = existsSync(join(folder.home, "audit")) ? await auditRecords(folder.home) : [];
  if (records.length > 0) assert.equal(records.at(-1)?.event.kind, "stopped");
});
