import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildImage } from "../../src/image/build-image.ts";
import { findImage } from "../../src/image/find-image.ts";

function isThere(program: string): boolean {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
}

const missing = ["podman", "mmdebstrap", "tar"].filter((program) => !isThere(program));

/** crun can't run a container on a hybrid cgroup machine, runc can. */
function inImage(image: string, command: string): string {
  const args = [
    "run",
    "--rm",
    "--ulimit=nofile=256:256",
    "--ulimit=nproc=256:256",
    "--network=none",
    "--pull=never",
    image,
    "/bin/sh",
    "-c",
    command,
  ];
  const first = spawnSync("podman", args, { encoding: "utf8" });
  const { status, stdout, stderr } =
    first.status === 0 ? first : spawnSync("podman", ["--runtime=runc", ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("buildImage() says which file is missing", async () => {
  const result = await buildImage({ toolkit: "/nonexistent/toolkit.mjs" });
  assert.deepEqual(result, {
    kind: "failed",
    problem: 'the toolkit "/nonexistent/toolkit.mjs" can\'t be read: build it first; see docs/runbook.md#image-build-failed',
  });
  assert.equal(await findImage("/nonexistent/toolkit.mjs"), undefined);
});

test("buildImage() makes the same image twice, with every program of a box and nothing set-id", {
  skip: missing.length > 0 && `needs ${missing.join(", ")}`,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-image-test-"));
  const toolkit = join(folder, "toolkit.mjs");
  // Of its own, so that it can't be another image's.
  writeFileSync(toolkit, `// ${folder}\nconsole.log("toolkit");\n`);
  try {
    assert.equal(await findImage(toolkit), undefined);
    const first = await buildImage({ toolkit });
    assert.ok(first.kind === "built", first.kind === "failed" ? first.problem : "");
    assert.match(first.reference, /^sha256:[0-9a-f]{64}$/u);
    assert.equal(await findImage(toolkit), first.reference);
    assert.deepEqual(await buildImage({ toolkit }), first);

    const programs = "awk cat cmp curl diff find grep gzip node sed sh sort tar xargs";
    const script = `for p in ${programs}; do command -v $p > /dev/null || echo no $p; done
        find / -xdev -perm /6000; find / -xdev -type b; ls -ld /tmp | cut -c1-10
        grep -c BEGIN /etc/ssl/certs/ca-certificates.crt > /dev/null && node /opt/boxmaker/toolkit.mjs`;
    assert.equal(inImage(first.reference, script), "drwxrwxrwt\ntoolkit\n");
  } finally {
    const image = await findImage(toolkit);
    if (image !== undefined) spawnSync("podman", ["rmi", "--force", image], { stdio: "ignore" });
    rmSync(folder, { recursive: true });
  }
});
