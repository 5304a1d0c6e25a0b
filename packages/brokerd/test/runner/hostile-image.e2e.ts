/** An image can say how it wants to be run. None of that counts in a box. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Opening } from "../../src/runner/opening.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { decideCall } from "./decisions.ts";
import { SANDBOXES, toolsImage } from "./sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

const HOSTILE = `FROM BASE
ENTRYPOINT ["/bin/echo", "entry point"]
CMD ["command"]
ENV NODE_OPTIONS=--require=/none.cjs LD_PRELOAD=/none.so PATH=/none HOME=/none EXTRA=1
USER 4242:4242
WORKDIR /srv
VOLUME /data /opt/boxmaker
HEALTHCHECK --interval=1s CMD touch /tmp/health
STOPSIGNAL SIGWINCH
LABEL boxmaker=another io.containers.capabilities=CAP_SYS_ADMIN
`;

const podman = SANDBOXES.find(({ name }) => name === "podman");
const skip = podman === undefined ? "needs podman" : podman.skip;

/** Opens the runtime on an image that is the tools image but for these lines. The image is removed at the end. */
async function withImage(lines: string, options: readonly string[], use: (opening: Opening) => Promise<void>): Promise<void> {
  using home = temporaryFolder();
  using folder = temporaryFolder();
  const image = buildImage(folder, lines, options);
  try {
    const opening = await podman?.open(home.path, { image, pool: 0 });
    assert.ok(opening !== undefined);
    await use(opening);
    if (opening.kind === "ready") await opening.runtime[Symbol.asyncDispose]();
  } finally {
    spawnSync("podman", ["rmi", "--force", image.replace("sha256:", "")], { stdio: "ignore" });
  }
}

function buildImage(folder: TemporaryFolder, lines: string, options: readonly string[]): string {
  writeFileSync(folder.at("Containerfile"), lines.replace("BASE", toolsImage().replace("sha256:", "")));
  const args = ["build", "--quiet", "--pull=never", "--format=docker", ...options, folder.path];
  const { status, stdout, stderr } = spawnSync("podman", args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return `sha256:${stdout.trim().replace("sha256:", "")}`;
}

test("a box has its own program, user, environment and folder, and no volumes, whatever its image says", { skip }, async () => {
  await withImage(HOSTILE, [], async (opening) => {
    assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
    const { runtime } = opening;
    using folder = temporaryFolder();
    const command =
      "tr '\\0' ' ' < /proc/1/cmdline; echo; pwd -P; id -u; id -g; env | grep -v ^HOSTNAME= | sort; cut -d ' ' -f 5 /proc/self/mountinfo | grep -c -e ^/data -e ^/opt; grep CapEff /proc/self/status";
    const decision = decideCall(runtime, { tool: "shell", arguments: { command }, paths: [folder.path] });
    const outcome = await runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
    assert.ok(outcome.kind === "done", JSON.stringify(outcome));
    assert.deepEqual(outcome.content.split("\n"), [
      "/usr/bin/node /opt/boxmaker/toolkit.mjs ",
      "/tmp",
      String(process.getuid?.()),
      String(process.getgid?.()),
      "HOME=/tmp",
      "PATH=/usr/bin:/bin",
      "PWD=/tmp",
      "0",
      "CapEff:\t0000000000000000",
      "[exit status 0]",
    ]);
  });
});

test("an image with an annotation that an OCI runtime acts on is refused at the start", { skip }, async () => {
  const options = ["--format=oci", "--annotation=org.systemd.property.TasksMax=1000000"];
  await withImage("FROM BASE\n", options, async (opening) => {
    assert.ok(opening.kind === "refused");
    assert.match(opening.problem, /its annotation org\.systemd\.property\.TasksMax could tell the OCI runtime what to do/u);
  });
});
