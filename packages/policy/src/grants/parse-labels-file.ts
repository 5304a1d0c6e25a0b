/** `labels.toml`: trees that the owner knows to be secret, or to hold what strangers wrote. */
import { parseToml, type TomlPath, type TomlProblem } from "@boxmaker/edge/toml";
import { AbsPath, DataClass, quoteText } from "@boxmaker/proto";
import { z } from "zod";
import type { TreeLabel } from "../rules/path-labels.ts";

const Tree = z
  .strictObject({ path: AbsPath, label: DataClass.optional(), untrusted: z.boolean().optional() })
  .refine(
    ({ label, untrusted }) => label !== undefined || untrusted !== undefined,
    "expected label or untrusted: without either it says nothing",
  )
  .readonly();

/** The owner's trees, each once. */
export const LabelsFile = z.strictObject({ trees: z.array(Tree).readonly().default([]) }).readonly();
export type LabelsFile = z.infer<typeof LabelsFile>;

/** What the file says, in its order; with any problem it says nothing. */
export interface ParsedLabelsFile {
  readonly labels: readonly TreeLabel[];
  readonly problems: readonly TomlProblem[];
  readonly lineOf: (path: TomlPath) => number;
}

function labelOf({ path, label, untrusted = false }: LabelsFile["trees"][number]): TreeLabel {
  const said = { path, label: Object.freeze({ taint: label ?? "public", untrusted }) };
  return Object.freeze(label === undefined ? { ...said, isClassUnsaid: true } : said);
}

/** Reads the file. All problems that can be told from it alone are found at once. */
export function parseLabelsFile(text: string): ParsedLabelsFile {
  const parsed = parseToml(LabelsFile, text);
  if (parsed.kind === "invalid") return { labels: [], problems: parsed.problems, lineOf: () => 1 };
  const { value, lineOf } = parsed;
  const first = new Map<AbsPath, number>();
  const problems: TomlProblem[] = [];
  for (const [index, { path }] of value.trees.entries()) {
    const before = first.get(path);
    if (before === undefined) {
      first.set(path, index);
      continue;
    }
    const at = lineOf(["trees", before, "path"]);
    problems.push({
      line: lineOf(["trees", index, "path"]),
      problem: `trees.${index}.path: ${quoteText(path)} is also in line ${at}`,
    });
  }
  const labels = value.trees.map(labelOf);
  return { labels: problems.length === 0 ? labels : [], problems, lineOf };
}
