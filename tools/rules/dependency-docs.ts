/** Every dependency has its reason written down: each is code that runs with a role's rights. */
import { type Fault, lineAt, type RuleReport } from "./fault.ts";
import { readSources, type SourceFile } from "./source-files.ts";

const DOCUMENT = "docs/dependencies.md";
const GROUPS = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;
const OURS = "@boxmaker/";
/** A table row of the document: `| name | …`, the name in backquotes. */
const ROW = /^\| `(?<name>[^`]+)` +\|/gmu;
const EXACT_VERSION = /^(npm:[@a-z0-9/._-]+@)?[0-9]+\.[0-9]+\.[0-9]+$/u;

type Manifest = Partial<Record<(typeof GROUPS)[number], Record<string, string>>>;

interface Declared {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly line: number;
}

function declaredIn(file: SourceFile): readonly Declared[] {
  const manifest = JSON.parse(file.text) as Manifest;
  return GROUPS.flatMap((group) =>
    Object.entries(manifest[group] ?? {}).map(([name, version]) => {
      const group_at = file.text.indexOf(`"${group}"`);
      return { name, version, file: file.path, line: lineAt(file.text, file.text.indexOf(`"${name}"`, group_at)) };
    }),
  );
}

/** Each third-party dependency of each package.json has exactly one row in docs/dependencies.md, each row has a dependency, versions are exact. */
export function checkDependencyDocs(root: string): RuleReport {
  const declared = readSources(root, ["package.json", "packages/*/package.json", "tools/*/package.json"]).flatMap(declaredIn);
  const foreign = declared.filter(({ name }) => !name.startsWith(OURS));
  const text = readSources(root, [DOCUMENT])[0]?.text ?? "";
  const rows = [...text.matchAll(ROW)].map((match) => ({
    name: match.groups?.["name"] ?? "",
    line: lineAt(text, match.index),
  }));
  const faults: Fault[] = [];
  for (const { name, version, file, line } of declared) {
    if (!EXACT_VERSION.test(version)) {
      faults.push({ file, line, what: `"${name}" is "${version}": write one exact version` });
    }
  }
  for (const { name, file, line } of foreign) {
    if (!rows.some((row) => row.name === name)) {
      faults.push({ file, line, what: `"${name}" has no row in ${DOCUMENT}: add what it is for, why this one and what it may do` });
    }
  }
  for (const [index, { name, line }] of rows.entries()) {
    if (!foreign.some((dependency) => dependency.name === name)) {
      faults.push({ file: DOCUMENT, line, what: `"${name}" is no dependency of any package: remove the row` });
    }
    if (rows.findIndex((row) => row.name === name) !== index) {
      faults.push({ file: DOCUMENT, line, what: `"${name}" has a second row: keep one` });
    }
  }
  return { checked: foreign.length, faults };
}
