/** Makes build/NAME/ out of packages/NAME/: JavaScript and types instead of TypeScript, and a package.json that says so. */
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Manifest, ROOT, readWorkspace, type WorkspacePackage, writeManifest } from "./manifest.ts";
import { runProgram } from "./run.ts";

/** Where everything built goes. */
export const BUILD = join(ROOT, "build");
const EMITTED = join(BUILD, ".emitted");
const SOURCE = /^\.\/src\/(.+)\.ts$/u;

function builtPath(path: string, extension: ".js" | ".d.ts"): string {
  const match = SOURCE.exec(path);
  if (match === null) throw new Error(`expected "./src/….ts" in exports or bin, got "${path}"`);
  return `./dist/${match[1]}${extension}`;
}

function builtExport(path: string): string | { readonly types: string; readonly default: string } {
  // The toolkit's bundle is built already, and has no types.
  if (path.startsWith("./dist/")) return path;
  return { types: builtPath(path, ".d.ts"), default: builtPath(path, ".js") };
}

/** The manifest of what is built: other paths, no development dependencies, no engines (the launcher checks the Node). */
function builtManifest({ exports = {}, bin = {}, ...manifest }: Manifest): object {
  const { devDependencies, engines, ...rest } = manifest as Manifest & { readonly engines?: unknown };
  return {
    ...rest,
    exports: Object.fromEntries(Object.entries(exports).map(([name, path]) => [name, builtExport(path)])),
    ...(Object.keys(bin).length === 0
      ? {}
      : { bin: Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, builtPath(path, ".js")])) }),
  };
}

function buildPackage({ folder, manifest }: WorkspacePackage): void {
  const from = join(ROOT, "packages", folder);
  const to = join(BUILD, folder);
  const compiled = join(EMITTED, folder, "src");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  if (!existsSync(compiled)) throw new Error(`packages/${folder}/src holds no TypeScript: nothing to build`);
  renameSync(compiled, join(to, "dist"));
  for (const asset of globSync("src/**/*", { cwd: from, withFileTypes: true })) {
    const path = join(asset.parentPath, asset.name);
    if (!asset.isFile() || path.endsWith(".ts")) continue;
    const target = join(to, "dist", path.slice(join(from, "src").length));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(path, target);
  }
  // What other tools have built of this package: the toolkit's bundle.
  if (existsSync(join(from, "dist"))) cpSync(join(from, "dist"), join(to, "dist"), { recursive: true });
  for (const document of ["README.md"]) {
    if (existsSync(join(from, document))) cpSync(join(from, document), join(to, document));
  }
  writeManifest(to, builtManifest(manifest));
}

/** Builds every package of the workspace and returns them. @throws {Error} when one doesn't compile or has no sources */
export function buildPackages(): readonly WorkspacePackage[] {
  rmSync(EMITTED, { recursive: true, force: true });
  runProgram("tsc", ["-p", "tsconfig.build.json"], ROOT);
  runProgram(process.execPath, ["tools/bundle-toolkit.ts"], ROOT);
  const workspace = readWorkspace();
  for (const one of workspace) buildPackage(one);
  rmSync(EMITTED, { recursive: true });
  return workspace;
}
