/** Makes the one file that goes into the container: packages/toolkit/dist/toolkit.mjs. Takes 0.1 s, so it's always made anew. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const toolkit = join(root, "packages", "toolkit");
const target = join(toolkit, "dist", "toolkit.mjs");

const bundling = build({
  // The bundle names its parts by their paths from here: made from another folder, it would be another image's toolkit.
  absWorkingDir: root,
  entryPoints: [join(toolkit, "src", "main.ts")],
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  minify: false,
  sourcemap: false,
  legalComments: "inline",
  logLevel: "warning",
  write: false,
});

/** Replaces the file in one step, and only by another one: a box that is starting may be reading it. */
function replace(bytes: Uint8Array): void {
  if (existsSync(target) && readFileSync(target).equals(bytes)) return;
  mkdirSync(dirname(target), { recursive: true });
  const fresh = `${target}.${process.pid}`;
  writeFileSync(fresh, bytes);
  renameSync(fresh, target);
}

const { outputFiles } = await bundling.catch(() => {
  // esbuild has printed what is wrong and where.
  process.exitCode = 1;
  return { outputFiles: [] };
});
for (const { contents } of outputFiles) replace(contents);
