/**
 * A second reader of JSON, by recursive descent from the grammar of RFC 8259 and sharing nothing with the one under test: the oracle
 * for what is accepted, and the place of every token for tests that rewrite a text.
 */

interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member {
  readonly key: StringNode;
  readonly value: JsonNode;
}

export interface ObjectNode extends Span {
  readonly type: "object";
  readonly members: readonly Member[];
}

export interface ArrayNode extends Span {
  readonly type: "array";
  readonly items: readonly JsonNode[];
}

export interface StringNode extends Span {
  readonly type: "string";
  readonly value: string;
}

export interface ScalarNode extends Span {
  readonly type: "number" | "word";
  readonly raw: string;
}

export type JsonNode = ObjectNode | ArrayNode | StringNode | ScalarNode;

class GrammarError extends Error {}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

class TreeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): JsonNode {
    const node = this.#value();
    if (this.#at < this.#text.length) throw new GrammarError("more after the value");
    return node;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #expect(pattern: RegExp): string {
    const found = this.#take(pattern);
    if (found === undefined) throw new GrammarError(`expected ${pattern.source} at ${this.#at}`);
    return found;
  }

  #space(): void {
    this.#take(/[ \t\n\r]*/y);
  }

  #value(): JsonNode {
    this.#space();
    const start = this.#at;
    const node = this.#object(start) ?? this.#array(start) ?? this.#string(start) ?? this.#scalar(start);
    this.#space();
    return node;
  }

  #object(start: number): ObjectNode | undefined {
    if (this.#take(/\{/y) === undefined) return undefined;
    const members: Member[] = [];
    this.#space();
    if (this.#take(/\}/y) === undefined) {
      do {
        this.#space();
        const key = this.#string(this.#at);
        if (key === undefined) throw new GrammarError("expected a key");
        this.#space();
        this.#expect(/:/y);
        members.push({ key, value: this.#value() });
      } while (this.#take(/,/y) !== undefined);
      this.#expect(/\}/y);
    }
    return { type: "object", start, end: this.#at, members };
  }

  #array(start: number): ArrayNode | undefined {
    if (this.#take(/\[/y) === undefined) return undefined;
    const items: JsonNode[] = [];
    this.#space();
    if (this.#take(/\]/y) === undefined) {
      do items.push(this.#value());
      while (this.#take(/,/y) !== undefined);
      this.#expect(/\]/y);
    }
    return { type: "array", start, end: this.#at, items };
  }

  #string(start: number): StringNode | undefined {
    if (this.#take(/"/y) === undefined) return undefined;
    let value = "";
    while (this.#take(/"/y) === undefined) {
      const plain = this.#take(/(?!["\\])[ -\uffff]/y);
      value += plain ?? this.#escape();
    }
    return { type: "string", start, end: this.#at, value };
  }

  #escape(): string {
    const unit = this.#take(/\\u[0-9a-fA-F]{4}/y);
    if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit.slice(2), 16));
    const short = this.#expect(/\\["\\/bfnrt]/y);
    return ESCAPES[short.slice(1)] ?? "";
  }

  #scalar(start: number): ScalarNode {
    const number = this.#take(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
    const raw = number ?? this.#expect(/true|false|null/y);
    return { type: number === undefined ? "word" : "number", start, end: this.#at, raw };
  }
}

/** The tree of one JSON text, or undefined where it isn't one. For small texts: it recurses. */
export function readTree(text: string): JsonNode | undefined {
  try {
    return new TreeReader(text).whole();
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

function childrenOf(node: JsonNode): readonly JsonNode[] {
  if (node.type === "object") return node.members.map(({ value }) => value);
  return node.type === "array" ? node.items : [];
}

/** 2^53-1. */
const LARGEST = "9007199254740991";

/** Whether our formats take a text of this tree: one spelling of integers, no duplicate key, whole characters, at most `depth` deep. */
export function isStrict(node: JsonNode, depth: number): boolean {
  switch (node.type) {
    case "word":
      return true;
    case "string":
      return isWhole(node.value);
    case "number":
      return /^[0-9]+$/.test(node.raw) && node.raw.padStart(16, "0") <= LARGEST && node.raw.length <= LARGEST.length;
    case "array":
    case "object": {
      if (depth === 0) return false;
      const keys = node.type === "object" ? node.members.map(({ key }) => key.value) : [];
      if (!keys.every((key, index) => isWhole(key) && keys.indexOf(key) === index)) return false;
      return childrenOf(node).every((child) => isStrict(child, depth - 1));
    }
    default:
      return node satisfies never;
  }
}

/** No half of a surrogate pair, found by pairing them up. */
function isWhole(text: string): boolean {
  return !/[\ud800-\udfff]/.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ""));
}
