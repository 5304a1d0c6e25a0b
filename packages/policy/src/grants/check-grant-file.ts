/** Rules of validity that can be told from one grant file alone, each for as much of the file as could be read. */
import type { TomlPath, TomlProblem } from "@boxmaker/edge/toml";
import {
  AbsPath,
  FetchUrl,
  holdsPath,
  hostOfUrl,
  isProperParent,
  matchesHost,
  parseShape,
  ToolCall,
  unreachable,
} from "@boxmaker/proto";
import { type Constraints, completeGrant, type GrantFile } from "../rules/grant.ts";
import { fitsCall } from "../rules/matching.ts";
import { whyUnmountable } from "../rules/mountable-path.ts";
import { ARGUMENT_SHAPES, type ArgumentKind, type Predicate, whyNeverHolds } from "../rules/predicate.ts";

/** The keys of a file that have a value of the right shape. */
export type PartialGrantFile = Partial<GrantFile>;

/** A problem and the value that it is about. */
interface Fault {
  readonly at: TomlPath;
  readonly problem: string;
}

type Rule = (grant: PartialGrantFile) => readonly Fault[];

const PATHS = ["constraints", "paths"] as const;

/** A deny holds always: what could make it lapse would make calls more lenient by itself. */
const checkDeny: Rule = ({ mode, max_taint, expires, uses }) => {
  if (mode !== "deny") return [];
  const limits = { max_taint, expires, uses };
  return Object.entries(limits).flatMap(([key, value]) =>
    value === undefined ? [] : [{ at: [key], problem: `${key}: a deny holds always, so it can't have this; take it out` }],
  );
};

const checkConstraints: Rule = ({ tool, constraints }) => {
  if (tool === undefined || constraints === undefined) return [];
  const [wanted, refused] = tool === "http_fetch" ? (["hosts", "paths"] as const) : (["paths", "hosts"] as const);
  const faults: Fault[] = [];
  if (constraints[wanted] === undefined)
    faults.push({ at: ["constraints"], problem: `constraints.${wanted}: missing: ${tool} needs it` });
  if (constraints[refused] !== undefined) {
    faults.push({ at: ["constraints", refused], problem: `constraints.${refused}: ${tool} has no such constraint; take it out` });
  }
  return faults;
};

const checkPaths: Rule = ({ constraints }) =>
  (constraints?.paths ?? []).flatMap((path, index) => {
    const fault = whyUnmountable(path);
    return fault === undefined ? [] : [{ at: [...PATHS, index], problem: `constraints.paths: ${fault}` }];
  });

/** Whether some value that the argument can have under the constraints fits the predicate. */
function isWithinConstraints(
  predicate: Predicate,
  kind: ArgumentKind,
  isAllowed: (value: string) => boolean,
  paths: readonly AbsPath[],
): boolean {
  const { in: values, prefix } = predicate;
  if (values !== undefined && !values.some(isAllowed)) return false;
  if (prefix === undefined || isAllowed(prefix)) return true;
  const start = AbsPath.safeParse(prefix).data;
  return kind === "path" && start !== undefined && paths.some((path) => holdsPath(start, path));
}

/** Whether the paths and hosts of the grant leave a place for a value. */
function allowsValue(
  { mode, tool }: PartialGrantFile,
  { paths = [], hosts = [] }: Constraints,
  kind: ArgumentKind,
  value: string,
): boolean {
  switch (kind) {
    case "path": {
      const path = AbsPath.safeParse(value).data;
      const holds = tool === "write_file" && mode !== "deny" ? isProperParent : holdsPath;
      return path !== undefined && paths.some((parent) => holds(parent, path));
    }
    case "url": {
      const url = FetchUrl.safeParse(value).data;
      return url !== undefined && hosts.some((pattern) => matchesHost(pattern, hostOfUrl(url)));
    }
    case "text":
      return true;
    default:
      return unreachable(kind);
  }
}

const checkArguments: Rule = (grant) => {
  const { tool, constraints } = grant;
  if (tool === undefined || constraints?.args === undefined) return [];
  const shapes = ARGUMENT_SHAPES[tool];
  return Object.entries(constraints.args).flatMap(([name, predicate]): readonly Fault[] => {
    const at = ["constraints", "args", name];
    const place = `constraints.args.${name}`;
    const shape = shapes.get(name);
    if (shape === undefined) {
      return [{ at, problem: `${place}: ${tool} has no argument of this name, expected one of ${[...shapes.keys()].join(", ")}` }];
    }
    const never = whyNeverHolds(predicate, shape);
    if (never !== undefined) return [{ at, problem: `${place}: ${never}` }];
    const isAllowed = (value: string): boolean => allowsValue(grant, constraints, shape.kind, value);
    if (isWithinConstraints(predicate, shape.kind, isAllowed, constraints.paths ?? [])) return [];
    return [{ at, problem: `${place}: never holds for what the other constraints allow` }];
  });
};

const checkExamples: Rule = ({ id = "example", tool, mode, constraints, examples = [] }) => {
  if (tool === undefined || mode === undefined || constraints === undefined) return [];
  const grant = completeGrant({ id, tool, mode, constraints });
  return examples.flatMap(({ call, match }, index): readonly Fault[] => {
    const at = ["examples", index];
    const parsed = parseShape(ToolCall, { tool, arguments: call });
    if (parsed.kind === "invalid") return [{ at, problem: `examples: no call of ${tool} looks like this: ${parsed.problem}` }];
    if ((fitsCall(grant, parsed.value) !== undefined) === match) return [];
    return [
      { at, problem: `examples: the grant ${match ? "doesn't match" : "matches"} this call; either it or the example is wrong` },
    ];
  });
};

const RULES: readonly Rule[] = [checkDeny, checkConstraints, checkPaths, checkArguments, checkExamples];

/** All problems of a file, for those of its keys that could be read. */
export function checkGrantFile(grant: PartialGrantFile, lineOf: (path: TomlPath) => number): readonly TomlProblem[] {
  return RULES.flatMap((rule) => rule(grant)).map(({ at, problem }) => ({ line: lineOf(at), problem }));
}
