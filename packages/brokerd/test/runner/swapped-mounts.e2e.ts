/** What is mounted by path may get another meaning after brokerd's last look at it: then the box itself has to notice. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { type CallOptions, decideCall } from "./decisions.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const PROGRAMS = { podman: "podman", bubblewrap: "bwrap" } as const;

for (const sandbox of SANDBOXES) {
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
