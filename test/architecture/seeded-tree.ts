/** A small copy of the workspace, under the real configuration, in which a test can plant faults. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

const CONFIGURATION = [
  ".dependency-cruiser.json",
  ".gitignore",
  ".oxlintrc.json",
  "biome.json",
  "knip.json",
  "package.json",
  "tsconfig.json",
];
const PACKAGES = [
  "boxmaker",
  "brokerd",
  "bxctl",
  "demo-model",
  "edge",
  "gatewayd",
  "inferproxy",
  "loopd",
  "policy",
  "proto",
  "toolkit",
];

/** Files by path; the content ends without a newline, which is added. */
export type Seeds = Readonly<Record<string, string>>;

/** What a clean tree holds beside the configuration: enough that every checker has something to check. */
export const CLEAN: Seeds = {
  "packages/proto/src/index.ts": 'export { two } from "./two.ts";',
  "packages/proto/src/two.ts": "export const two = 2;",
  "packages/loopd/src/main.ts": 'import { two } from "@boxmaker/proto";\n\nprocess.exitCode = two;',
  "tools/one.ts": "process.exitCode = 1;",
  "bench/one.ts": "process.exitCode = 1;",
  "test/one.ts": "process.exitCode = 1;",
};

/** A temporary folder; disposing removes it. */
export interface SeededTree extends Disposable {
  readonly root: string;
}

/** Makes a folder of exactly these files. */
export function makeFolder(files: Seeds): SeededTree {
  const root = mkdtempSync(join(tmpdir(), "boxmaker-tree-"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${content}\n`);
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

/** Makes a tree with the configuration of this repository, its installed packages, and the given files. */
export function makeTree(...seeds: readonly Seeds[]): SeededTree {
  const tree = makeFolder(Object.assign({}, ...seeds) as Seeds);
  const { root } = tree;
  for (const name of CONFIGURATION) copyFileSync(join(REPOSITORY, name), join(root, name));
  const installed = join(root, "node_modules");
  mkdirSync(join(installed, "@boxmaker"), { recursive: true });
  for (const name of readdirSync(join(REPOSITORY, "node_modules"))) {
    if (name !== "@boxmaker") symlinkSync(join(REPOSITORY, "node_modules", name), join(installed, name));
  }
  for (const name of PACKAGES) {
    mkdirSync(join(root, "packages", name), { recursive: true });
    copyFileSync(join(REPOSITORY, "packages", name, "package.json"), join(root, "packages", name, "package.json"));
    symlinkSync(join("..", "..", "packages", name), join(installed, "@boxmaker", name));
  }
  return tree;
}
