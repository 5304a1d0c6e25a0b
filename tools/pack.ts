/**
 * `npm run pack`: makes build/boxmaker-VERSION.tgz, which `npm install` takes anywhere. It holds all of our packages; the others
 * are its ordinary dependencies, and the Node to run with an optional one.
 */
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILD, buildPackages } from "./workspace/build-packages.ts";
import { ROOT, readManifest, type WorkspacePackage, writeManifest } from "./workspace/manifest.ts";
import { runProgram } from "./workspace/run.ts";

const SCOPE = "@boxmaker/";
const STAGE = join(BUILD, "package");

/** The program's launcher: three lines of JavaScript that an old Node understands. */
function launcherSource(packageName: string): string {
  return `#!/usr/bin/env node\n"use strict";\nrequire("./launch.cjs").launch(__filename, "${packageName}/main");\n`;
}

function stageLaunchers(workspace: readonly WorkspacePackage[]): Readonly<Record<string, string>> {
  const folder = join(STAGE, "bin");
  mkdirSync(folder);
  cpSync(join(ROOT, "tools", "launcher", "launch.cjs"), join(folder, "launch.cjs"));
  const programs: Record<string, string> = {};
  for (const { manifest } of workspace) {
    for (const name of Object.keys(manifest.bin ?? {})) {
      writeFileSync(join(folder, `${name}.cjs`), launcherSource(manifest.name));
      chmodSync(join(folder, `${name}.cjs`), 0o755);
      programs[name] = `./bin/${name}.cjs`;
    }
  }
  return programs;
}

function stage(workspace: readonly WorkspacePackage[]): void {
  rmSync(STAGE, { recursive: true, force: true });
  mkdirSync(join(STAGE, "node_modules", SCOPE), { recursive: true });
  for (const { folder, manifest } of workspace) {
    cpSync(join(BUILD, folder), join(STAGE, "node_modules", manifest.name), { recursive: true });
  }
  for (const path of ["LICENSE", "README.md", "CHANGELOG.md", "docs"]) {
    cpSync(join(ROOT, path), join(STAGE, path), { recursive: true });
  }
  const root = readManifest(ROOT);
  const dependencies = Object.assign({}, ...workspace.map(({ manifest }) => manifest.dependencies ?? {})) as Record<string, string>;
  writeManifest(STAGE, {
    name: "boxmaker",
    version: root.version,
    description: root.description,
    license: root.license,
    bin: stageLaunchers(workspace),
    files: ["bin", "docs", "CHANGELOG.md"],
    dependencies: {
      ...Object.fromEntries(Object.entries(dependencies).sort(([a], [b]) => (a < b ? -1 : 1))),
      ...Object.fromEntries(workspace.map(({ manifest }) => [manifest.name, manifest.version])),
    },
    optionalDependencies: root.optionalDependencies,
    bundleDependencies: workspace.map(({ manifest }) => manifest.name),
  });
}

stage(buildPackages());
runProgram("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", BUILD], STAGE);
rmSync(STAGE, { recursive: true });
