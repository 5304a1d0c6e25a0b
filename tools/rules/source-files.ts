/** Which files the house rules read. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One text file; `path` is relative to the root, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const NOT_OURS = /(^|\/)(node_modules|dist|build)\//u;

/** The files under `root` that match any of the glob patterns, sorted by path; nothing installed or generated. */
export function readSources(root: string, patterns: readonly string[]): readonly SourceFile[] {
  const paths = globSync(patterns, { cwd: root, exclude: ["**/node_modules", "**/dist", "build"] });
  return [...new Set(paths)]
    .filter((path) => !NOT_OURS.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** Every TypeScript file of ours. */
export const ALL_TYPESCRIPT: readonly string[] = ["{packages,tools,bench,test}/**/*.ts"];

/** What ships. */
export const SHIPPED_TYPESCRIPT: readonly string[] = ["packages/*/src/**/*.ts"];
