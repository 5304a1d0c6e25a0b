/** Reads TOML with the line of every key at hand, so that a fault in an owner's file can be pointed at. */
import { escapeText } from "@boxmaker/proto";
import { type AST, getStaticTOMLValue, ParseError, parseTOML } from "toml-eslint-parser";

/** Where a value stands: keys and array indexes from the top. */
export type TomlPath = readonly (string | number)[];

/** A read file. `lineOf` gives the line (from 1) of the value at a path, or of its nearest parent that is there. */
export type TomlReading =
  | { readonly kind: "value"; readonly value: unknown; readonly lineOf: (path: TomlPath) => number }
  | { readonly kind: "invalid"; readonly line: number; readonly problem: string };

const SEPARATOR = "\0";

function keyNames(key: AST.TOMLKey): string[] {
  return key.keys.map((part) => (part.type === "TOMLBare" ? part.name : part.value));
}

/** What the grammar takes but no format of ours has, because it could be read in two ways. */
function findAmbiguity(node: AST.TOMLContentNode): string | undefined {
  if (node.type !== "TOMLValue") return undefined;
  switch (node.kind) {
    case "float":
      return "a number with a fraction or exponent";
    case "integer":
      return Number.isSafeInteger(node.value) && node.value >= 0 ? undefined : "a number outside 0..2^53-1";
    case "local-date-time":
    case "local-date":
    case "local-time":
      return "a time without an offset: write it as 2027-01-01T00:00:00Z";
    case "string":
    case "boolean":
    case "offset-date-time":
      return undefined;
    default:
      return node satisfies never;
  }
}

class LineIndex {
  readonly #lines = new Map<string, number>();
  /** The first thing found that makes the whole text invalid. */
  fault: { readonly line: number; readonly problem: string } | undefined;

  checkKeys(key: AST.TOMLKey): void {
    // The parser drops this key, so no schema could refuse it.
    if (keyNames(key).includes("__proto__")) this.fault ??= { line: key.loc.start.line, problem: 'unknown key "__proto__"' };
  }

  add(path: TomlPath, line: number): void {
    const key = path.join(SEPARATOR);
    if (!this.#lines.has(key)) this.#lines.set(key, line);
  }

  addContent(path: TomlPath, node: AST.TOMLContentNode): void {
    this.add(path, node.loc.start.line);
    const problem = findAmbiguity(node);
    if (problem !== undefined) this.fault ??= { line: node.loc.start.line, problem };
    if (node.type === "TOMLArray") node.elements.forEach((element, index) => this.addContent([...path, index], element));
    if (node.type === "TOMLInlineTable") for (const pair of node.body) this.addPair(path, pair);
  }

  addPair(parent: TomlPath, pair: AST.TOMLKeyValue): void {
    this.checkKeys(pair.key);
    const names = keyNames(pair.key);
    names.forEach((_, depth) => this.add([...parent, ...names.slice(0, depth + 1)], pair.key.loc.start.line));
    this.addContent([...parent, ...names], pair.value);
  }

  lineOf(path: TomlPath): number {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lines.get(path.slice(0, length).join(SEPARATOR));
      if (line !== undefined) return line;
    }
    return 1;
  }
}

/**
 * Reads one TOML 1.0 text. Duplicate keys and redefined tables are refused by the grammar; beyond it, numbers that are no integer in
 * 0..2^53-1, times without an offset, and a key `__proto__`. Times come as `Date`.
 */
export function readToml(text: string): TomlReading {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: "1.0" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { kind: "invalid", line: error.lineNumber, problem: `not TOML: ${escapeText(error.message)}` };
  }
  const lines = new LineIndex();
  for (const node of program.body[0].body) {
    if (node.type === "TOMLKeyValue") {
      lines.addPair([], node);
      continue;
    }
    lines.checkKeys(node.key);
    lines.add(node.resolvedKey, node.loc.start.line);
    for (const pair of node.body) lines.addPair(node.resolvedKey, pair);
  }
  if (lines.fault !== undefined) return { kind: "invalid", ...lines.fault };
  return { kind: "value", value: getStaticTOMLValue(program), lineOf: (path) => lines.lineOf(path) };
}
