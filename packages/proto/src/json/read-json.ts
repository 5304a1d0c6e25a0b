/**
 * The one reader of JSON for every format we define: stricter than the grammar, because what two readers would read differently
 * (duplicate keys, `1e2` for an integer, half a surrogate pair) is where a policy and its executor come apart.
 */
import { escapeText } from "../text/escape-text.ts";

/** What reading ended in. `problem` is one line of fixed text and positions, safe to print. */
export type JsonReading =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "invalid"; readonly problem: string };

/** Nesting beyond this is refused, so that no consumer's recursion can be driven deep. */
export const MAX_JSON_DEPTH = 64;

/** More members and elements than this, all levels together, are refused: a checker's work and memory grow with them. */
export const MAX_JSON_VALUES = 2 ** 18;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const INTEGER = /^(?:0|[1-9][0-9]*)$/u;

function invalid(problem: string): JsonReading {
  return { kind: "invalid", problem };
}

/** Decodes UTF-8 strictly; a byte order mark stays and is then no JSON. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    // The only thing that a fatal decoder throws is "not UTF-8", which the caller reports.
    return undefined;
  }
}

/**
 * Reads one JSON text.
 *
 * Refused beyond the grammar (RFC 8259): duplicate keys at any depth, numbers other than integers in 0..2^53-1 in their shortest
 * spelling (no sign, fraction or exponent), lone surrogates in strings and keys, nesting deeper than {@link MAX_JSON_DEPTH}, more
 * than {@link MAX_JSON_VALUES} values.
 */
export function readJson(text: string): JsonReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // V8's message quotes the input, so it isn't passed on.
    return invalid("not JSON");
  }
  const problem = findAmbiguity(text);
  return problem === undefined ? { kind: "value", value } : invalid(problem);
}

/** What canonical JSON writes for every surrogate that is one half of nothing begins so. */
const SURROGATE_ESCAPE = "\\ud";

/**
 * Whether readJson takes a text that canonicalJson wrote, without reading it again where it can't be otherwise. The numbers and the
 * nesting in it are its schema's to bound.
 */
export function isReadable(written: string): boolean {
  if (written.length < MAX_JSON_VALUES && !written.includes(SURROGATE_ESCAPE)) return true;
  return readJson(written).kind === "value";
}

/** As {@link readJson}, from bytes that must be UTF-8. */
export function readJsonBytes(bytes: Uint8Array): JsonReading {
  const text = decodeUtf8(bytes);
  return text === undefined ? invalid("not UTF-8") : readJson(text);
}

/** Where the string that opens at `start` ends: the index after its closing quote. The text is known to be JSON. */
function stringEnd(text: string, start: number): number {
  let end = start + 1;
  for (;;) {
    end = text.indexOf('"', end) + 1;
    let backslashes = 0;
    while (text[end - 2 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

/** Where the bare word or number at `start` ends. */
function wordEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && !" \t\n\r,:]}".includes(text.charAt(end))) end++;
  return end;
}

/**
 * Walks the tokens of a text that JSON.parse has accepted, by hand: a regular expression that takes a whole string overflows its
 * stack on one of several megabytes.
 */
function findAmbiguity(text: string): string | undefined {
  // One entry per open container: the keys of an object, or undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let expectsKey = false;
  let commas = 0;
  let index = 0;
  while (index < text.length) {
    const start = index;
    let problem: string | undefined;
    index++;
    switch (text.charAt(start)) {
      case "{":
      case "[":
        expectsKey = text[start] === "{";
        open.push(expectsKey ? new Set() : undefined);
        if (open.length > MAX_JSON_DEPTH) problem = `nested deeper than ${MAX_JSON_DEPTH}`;
        break;
      case "}":
      case "]":
        open.pop();
        expectsKey = false;
        break;
      case ",":
        expectsKey = open.at(-1) !== undefined;
        commas++;
        if (commas >= MAX_JSON_VALUES) problem = `more than ${MAX_JSON_VALUES} values`;
        break;
      case '"':
        index = stringEnd(text, start);
        problem = inspectString(text.slice(start, index), expectsKey ? open.at(-1) : undefined);
        expectsKey = false;
        break;
      case ":":
      case " ":
      case "\t":
      case "\n":
      case "\r":
        break;
      default:
        index = wordEnd(text, start);
        problem = inspectWord(text.slice(start, index));
    }
    if (problem !== undefined) return `${problem} at offset ${start}`;
  }
  return undefined;
}

function inspectString(token: string, keys: Set<string> | undefined): string | undefined {
  const value: unknown = token.includes("\\") ? JSON.parse(token) : token.slice(1, -1);
  if (typeof value !== "string" || !value.isWellFormed()) return "a lone surrogate";
  if (keys === undefined) return undefined;
  if (keys.has(value)) return `a duplicate key "${escapeText(value.slice(0, 64))}"`;
  keys.add(value);
  return undefined;
}

function inspectWord(token: string): string | undefined {
  if (token === "true" || token === "false" || token === "null") return undefined;
  return INTEGER.test(token) && Number.isSafeInteger(Number(token)) ? undefined : "a number that is no integer in 0..2^53-1";
}
