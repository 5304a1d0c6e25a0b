/** What is left of attacks that were ended in their middle: nothing, at once or at the next run. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { SANDBOXES, toolsImage } from "../runner/sandboxes.ts";
import { temporaryFolder } from "../runner/temporary-folder.ts";

const BROKERD = join(import.meta.dirname, "..", "..", "src", "main.ts");
const RANGES = "/var/tmp";
const HOME = "home-of-fetches";
const LABEL_DIGITS = 12;

const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** All that bears the mark of the attacks of one process. */
function left(mark: string, home: string): readonly string[] {
  const places = [RANGES, "/run/netns", "/etc/netns"].flatMap((folder) => namesIn(folder).map((name) => join(folder, name)));
  const programs = namesIn("/proc").filter((id) => {
    try {
      return /^[0-9]+$/u.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });
  const label = createHash("sha256").update(home).digest("hex").slice(0, LABEL_DIGITS);
  const { stdout } = spawnSync("podman", ["ps", "--all", "--quiet", `--filter=label=boxmaker=${label}`], { encoding: "utf8" });
  const boxes = (stdout ?? "").split("\n").filter((line) => line !== "");
  return [...places.filter((path) => path.includes(mark)), ...programs, ...boxes];
}

for (const sandbox of SANDBOXES) {
  const skip = sandbox.skip || (process.getuid?.() !== 0 && "needs root for a network of the attacks' own");
  describe(`attacks on a box of ${sandbox.name}`, { skip }, () => {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      test(`leave nothing ${signal === "SIGTERM" ? "when they are stopped" : "behind the next ones when they were killed"}`, async () => {
        using folder = temporaryFolder();
        const config = folder.at("brokerd.toml");
        const image = sandbox.name === "podman" ? `image = "${toolsImage()}"\n` : "";
        const runner = `runtime = "${sandbox.name}"\nlimits = "unenforced"\npool = 0\n${image}`;
        writeFileSync(config, `home = "${folder.path}"\n[runner]\n${runner}`);
        const args = [BROKERD, "attack", "--config", config, "--only"];
        const child = spawn(process.execPath, [...args, "proxy-asked"], { stdio: ["ignore", "ignore", "inherit"] });
        const ended = once(child, "exit");
        const mark = `boxmaker-attack-${child.pid}-`;
        const home = (): string => join(RANGES, namesIn(RANGES).find((name) => name.startsWith(mark)) ?? mark, HOME);
        while (namesIn(join(home(), "run/runner/egress")).length === 0 && child.exitCode === null) await setTimeout(20);
        const where = home();
        assert.ok(left(mark, where).length > 1);
        child.kill(signal);
        // A parent's end is told more than once.
        await setTimeout(50);
        child.kill(signal);
        await ended;
        if (signal === "SIGKILL") spawnSync(process.execPath, [...args, "outside-paths", "--only", "userinfo"]);
        assert.deepEqual(left(mark, where), []);
      });
    }
  });
}
