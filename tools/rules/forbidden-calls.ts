/** Calls that belong in one place, where the linters can't say which place. */
import ts from "typescript";
import { type Fault, lineAt, type RuleReport } from "./fault.ts";
import { readSources, SHIPPED_TYPESCRIPT, type SourceFile } from "./source-files.ts";

interface Forbidden {
  readonly call: string;
  /** Where it is allowed. */
  readonly allowed: RegExp;
  readonly instead: string;
}

const MAIN = /^packages\/[^/]+\/src\/main\.ts$/u;
const NOWHERE = /^$/u;

const FORBIDDEN: readonly Forbidden[] = [
  {
    call: "JSON.parse",
    // The demo model stands for a foreign server and shares no code with ours.
    allowed: /^packages\/(proto\/src\/json|demo-model\/src)\//u,
    instead: "use proto's JSON reader, which refuses what two readers would read differently",
  },
  { call: "process.exit", allowed: MAIN, instead: "set process.exitCode, or return the outcome to main.ts" },
  { call: "process.chdir", allowed: NOWHERE, instead: "pass absolute paths" },
  { call: "new Date()", allowed: /^packages\/[^/]+\/src\/(real\/|main\.ts$)/u, instead: "take a Clock" },
  { call: "import.meta.main", allowed: NOWHERE, instead: "let main.ts run when it is loaded: an installed launcher imports it" },
];

/** The spelling under which a node is looked up in the table, if it is one that could be there. */
function spelling(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return `${node.expression.getText()}.${node.name.text}`;
  if (ts.isNewExpression(node)) return `new ${node.expression.getText()}(${node.arguments?.length === 0 ? "" : "…"})`;
  return undefined;
}

function findIn({ path, text }: SourceFile): readonly Fault[] {
  const faults: Fault[] = [];
  const visit = (node: ts.Node): void => {
    const found = spelling(node);
    const rule = FORBIDDEN.find(({ call, allowed }) => call === found && !allowed.test(path));
    if (rule !== undefined) faults.push({ file: path, line: lineAt(text, node.getStart()), what: `${rule.call}: ${rule.instead}` });
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return faults;
}

export function checkForbiddenCalls(root: string): RuleReport {
  const files = readSources(root, SHIPPED_TYPESCRIPT);
  return { checked: files.length, faults: files.flatMap(findIn) };
}
