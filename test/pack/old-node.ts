/** What stands in for a machine with an old Node, and for the new Node that npm installs beside a program. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "../architecture/seeded-tree.ts";

/** The package that holds Node for this machine. */
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

/** Writes a module that makes the process which `--require`s it believe that its Node is 20. Children don't inherit it. */
export function writeOldNode(folder: string): string {
  const path = join(folder, "old-node.cjs");
  writeFileSync(
    path,
    'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" }, configurable: true });\n',
  );
  return path;
}

/** Makes a package in place of the one with 120 MB of Node: its program starts the Node of this test. Returns its folder. */
export function makeNodePackage(folder: string): string {
  const root = JSON.parse(readFileSync(join(REPOSITORY, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const made = join(folder, NODE_PACKAGE);
  mkdirSync(join(made, "bin"), { recursive: true });
  writeFileSync(
    join(made, "package.json"),
    JSON.stringify({ name: NODE_PACKAGE, version: root.optionalDependencies[NODE_PACKAGE] }),
  );
  writeFileSync(join(made, "bin", "node"), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
  chmodSync(join(made, "bin", "node"), 0o755);
  return made;
}
