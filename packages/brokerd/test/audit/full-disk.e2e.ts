/** A disk that fills up under the log, in a file system of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { TempDirectory } from "./audit-fixture.ts";
import { checkAnswers, WRITER_PROGRAM } from "./traced-run.ts";

const DEADLINE_MS = 120_000;

const canMount = spawnSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]).status === 0;

/** Fills a disk of 64 KiB, starts again on it, makes room, starts again: what the three runs say, with a line `--` between. */
const SCRIPT = `
set -e
disk=$1 node=$2 program=$3
mount -t tmpfs -o size=64k none "$disk"
"$node" "$program" "$disk/audit" 0 400 plain
echo --
"$node" "$program" "$disk/audit" 0 4 plain
echo --
mount -o remount,size=1m "$disk"
"$node" "$program" "$disk/audit" 0 4 plain
`;

test("a full disk stops the log, refuses a start that has to recover, and loses nothing acknowledged once there is room", {
  skip: canMount ? false : "unshare may not mount a tmpfs here",
}, () => {
  using home = new TempDirectory();
  const run = spawnSync("unshare", ["-rm", "sh", "-c", SCRIPT, "sh", home.path, process.execPath, WRITER_PROGRAM], {
    encoding: "utf8",
    timeout: DEADLINE_MS,
  });
  assert.equal(run.status, 0, run.stderr);
  const [filled = [], full = [], roomy = []] = run.stdout.split("--\n").map((part) => part.split("\n").slice(0, -1));
  const durable = checkAnswers({ lines: filled });
  assert.ok(durable.length > 100 && durable.length < 400, `${durable.length} records fit`);
  assert.match(filled.find((line) => line.startsWith("warned")) ?? "", /no space is left \(write failed with ENOSPC\)/u);
  assert.equal(filled.filter((line) => line.startsWith("denied")).length, 400 - durable.length);
  // It may be the torn line's newline that finds no room, or the record behind it.
  assert.match(full.at(-1) ?? "", /^refused .+: no space is left \(write failed with ENOSPC\).*#audit-unavailable$/u);
  assert.ok(full.every((line) => /^(?:refused|warned) /u.test(line)));
  const [opened = "", ...rest] = roomy;
  const head = Number(/^opened (?<head>\d+)$/u.exec(opened)?.groups?.["head"]);
  assert.ok(head > Math.max(...durable), `${opened} after ${durable.at(-1)}`);
  assert.deepEqual(rest, [...[1, 2, 3, 4].map((index) => `durable ${head + index}`), "done"]);
});
