/** What is mounted by path may get another meaning after brokerd's last look at it: then the box itself has to notice. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { test } from "node:test";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { type CallOptions, decideCall } from "./decisions.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PROGRAMS = { podman: "podman", bubblewrap: "bwrap" } as const;

/** What is laid over a folder in a box, each swapped for a link to a place that the box has as well as the host. */
const SWAPS = [
  { what: "a folder that the host executes from", place: ".git/hooks" },
  { what: "the folder around one", place: ".git" },
  { what: "the folder around what is hidden", place: "a" },
] as const;

for (const sandbox of SANDBOXES) {
  test(`a box of ${sandbox.name} does nothing where this was swapped within its grant as it started`, {
    skip: sandbox.skip,
  }, async (t) => {
    using home = temporaryFolder();
    using folder = temporaryFolder();
    const { stdout } = spawnSync("/bin/sh", ["-c", `command -v ${PROGRAMS[sandbox.name]}`], { encoding: "utf8" });
    // In the sandbox's place: it does what the file says, if there is one, and becomes the sandbox.
    const swap = `if mv "${folder.at("now")}" "${folder.at("done")}" 2> /dev/null; then . "${folder.at("done")}"; fi`;
    writeFileSync(folder.at("sandbox"), `#!/bin/sh\n${swap}\nexec ${stdout.trim()} "$@"\n`);
    chmodSync(folder.at("sandbox"), 0o755);
    const opening = await sandbox.open(home.path, { [sandbox.name]: folder.at("sandbox"), pool: 0 });
    assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
    await using runtime = opening.runtime;
    const granted = folder.at("granted");
    for (const at of ["granted/.git/hooks", "granted/a/secret", "also/hooks", "also/secret"])
      mkdirSync(folder.at(at), { recursive: true });
    for (const { what, place } of SWAPS) {
      await t.test(what, async () => {
        const at = `${granted}/${place}`;
        // bubblewrap mounts in this order: what the link leads to is there by then.
        const link = relative(dirname(at), folder.at("also"));
        writeFileSync(folder.at("now"), `mv "${at}" "${folder.at("aside")}"; ln -s "${link}" "${at}"`);
        const command = `touch ${granted}/made; ls ${at}/`;
        const given = {
          tool: "shell",
          arguments: { command },
          paths: [granted, folder.at("also")],
          denied: [`${granted}/a/secret`],
        } as const;
        const outcome = await runtime.run(buildRunSpec(decideCall(runtime, given)), { signal: new AbortController().signal });
        assert.ok(existsSync(folder.at("aside")), "expected the swap to have been made");
        assert.equal(spawnSync("/bin/sh", ["-c", `rm "${at}" && mv "${folder.at("aside")}" "${at}"`]).status, 0);
        assert.ok(outcome.kind === "done", JSON.stringify(outcome));
        assert.match(outcome.content, /^shell: \S+: is something else than what was decided about$/u);
        assert.ok(!existsSync(`${granted}/made`));
      });
    }
  });

  test(`a box of ${sandbox.name} does nothing in a folder that was put in its grant's place as it started`, {
    skip: sandbox.skip,
  }, async () => {
    using home = temporaryFolder();
    using folder = temporaryFolder();
    const { stdout } = spawnSync("/bin/sh", ["-c", `command -v ${PROGRAMS[sandbox.name]}`], { encoding: "utf8" });
    // In the sandbox's place: it swaps the two folders where there is a file that asks for it, and becomes the sandbox.
    const swap = `if rm "${folder.at("now")}" 2> /dev/null; then mv "${folder.at("granted")}" "${folder.at("aside")}"; mv "${folder.at("other")}" "${folder.at("granted")}"; fi`;
    writeFileSync(folder.at("sandbox"), `#!/bin/sh\n${swap}\nexec ${stdout.trim()} "$@"\n`);
    chmodSync(folder.at("sandbox"), 0o755);
    const opening = await sandbox.open(home.path, { [sandbox.name]: folder.at("sandbox"), pool: 0 });
    assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
    await using runtime = opening.runtime;
    for (const name of ["granted", "other"]) {
      mkdirSync(folder.at(name));
      writeFileSync(`${folder.at(name)}/file`, name);
    }
    const path = `${folder.at("granted")}/file`;
    const calls: readonly Pick<CallOptions, "tool" | "arguments">[] = [
      { tool: "read_file", arguments: { path } },
      { tool: "write_file", arguments: { path, content: "new" } },
      { tool: "shell", arguments: { command: `cat ${path}; touch ${folder.at("granted")}/made` } },
    ];
    for (const call of calls) {
      writeFileSync(folder.at("now"), "");
      const spec = buildRunSpec(decideCall(runtime, { ...call, paths: [folder.at("granted")] }));
      const outcome = await runtime.run(spec, { signal: new AbortController().signal });
      assert.ok(outcome.kind === "done" && outcome.status === "failed", JSON.stringify(outcome));
      assert.equal(outcome.content, `${call.tool}: ${folder.at("granted")}: is something else than what was decided about`);
      assert.equal(readFileSync(path, "utf8"), "other");
      assert.deepEqual(readdirSync(folder.at("granted")), ["file"]);
      // Back as it was.
      const back = `mv "${folder.at("granted")}" "${folder.at("other")}" && mv "${folder.at("aside")}" "${folder.at("granted")}"`;
      assert.equal(spawnSync("/bin/sh", ["-c", back]).status, 0);
    }
    const spec = buildRunSpec(decideCall(runtime, { tool: "read_file", arguments: { path }, paths: [folder.at("granted")] }));
    const outcome = await runtime.run(spec, { signal: new AbortController().signal });
    assert.deepEqual(outcome, { kind: "done", status: "ok", content: "granted", truncated: false });
  });
}
