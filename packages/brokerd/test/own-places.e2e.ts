/** A brokerd that runs takes no grant that covers a place of the box: directories, sockets, files, and podman's storage. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import { SANDBOXES } from "./runner/sandboxes.ts";
import { Daemon } from "./support/daemon.ts";
import { BoxFiles } from "./support/rig.ts";

/** What brokerd says of grants of these paths, one line each. */
async function refusedPaths(files: BoxFiles, paths: readonly string[], toml = ""): Promise<readonly string[]> {
  for (const [index, path] of paths.entries()) files.grant(`g${index}`, "read_file", "ask", "", [path]);
  await using daemon = Daemon.serve(files, toml);
  assert.match(await daemon.ready, /invalid grants/u);
  daemon.kill("SIGTERM");
  const { stderr } = await daemon.ended;
  return stderr.split("\n").filter((line) => line.includes("which no grant may name"));
}

test("brokerd takes no grant of its home's directories, its sockets' directories, or files that it goes by", async () => {
  using files = new BoxFiles();
  for (const name of ["moved-tools", "moved-socket"]) mkdirSync(files.at(name), { mode: 0o700 });
  const below = ["run", "audit", "broker", "sessions", "memory", "gateway", "etc", "grants", "moved-socket"].map((name) =>
    files.at(name),
  );
  const paths = [
    ...below,
    ...below.map((path) => `${path}/inside`),
    files.at("moved-tools/tools.toml"),
    files.at("moved-tools"),
    files.path,
  ];
  const toml = `[sockets]\nbroker_mcp = "${files.at("moved-socket/mcp.sock")}"\n`;
  const lines = await refusedPaths(files, paths, `tools = "${files.at("moved-tools/tools.toml")}"\n${toml}`);
  for (const path of paths)
    assert.ok(
      lines.some((line) => line.includes(`"${path}\\"`) || line.includes(`"${path}"`)),
      path,
    );
});

for (const sandbox of SANDBOXES.filter(({ name }) => name === "podman")) {
  test("brokerd takes no grant of podman's storage", { skip: sandbox.skip }, async () => {
    using files = new BoxFiles();
    const opening = await sandbox.open(files.at("probe"));
    assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
    await using runtime = opening.runtime;
    const [storage = ""] = opening.reserved;
    const lines = await refusedPaths(
      files,
      [storage, `${storage}/overlay`],
      `[runner]\nruntime = "podman"\nlimits = "unenforced"\nimage = "${runtime.image}"\n`,
    );
    assert.equal(lines.length, 2, lines.join("\n"));
  });
}
