/** A file whose one reason to exist can't be said in its first comment is several files. */
import type { RuleReport } from "./fault.ts";
import { readSources } from "./source-files.ts";

const FILES = ["packages/*/src/**/*.ts", "{tools,bench}/**/*.ts"];
/** An index only passes on the names of others. */
const INDEX = /(^|\/)index\.ts$/u;
const HEADER = /^(#![^\n]*\n)?\/\*\*/u;

export function checkFileHeader(root: string): RuleReport {
  const files = readSources(root, FILES).filter(({ path }) => !INDEX.test(path));
  const faults = files.flatMap(({ path, text }) =>
    HEADER.test(text)
      ? []
      : [{ file: path, line: 1, what: "begins without a comment: say in a /** sentence */ what the file is for" }],
  );
  return { checked: files.length, faults };
}
