/** Every small change of a JSON text that a strict reader must refuse. */
import { type JsonNode, type Member, type ObjectNode, readTree, type StringNode } from "./json-tree.ts";

/** One changed text. `place` is the path of what was changed, with `[]` for any index. */
export interface Mutation {
  readonly change: Change;
  readonly place: string;
  readonly bytes: Buffer;
}

export type Change =
  | "added key"
  | "dropped key"
  | "duplicate key"
  | "wrong type"
  | "wrong number"
  | "lone surrogate"
  | "wrong string"
  | "bad UTF-8";

type Report = (change: Change, place: string, from: { start: number; end: number }, replacement: string) => void;

const ADDED_KEYS = ["extra", "__proto__", "constructor", "toString", "", "kind\\u0000"];
const WRONG_NUMBERS = ["1.0", "1e2", "1E0", "-0", "-1", "9007199254740992", "1e400", "00"];

function changeObject(text: string, node: ObjectNode, place: string, report: Report): void {
  const values = node.members.map(({ value }) => text.slice(value.start, value.end));
  const pairs = node.members.map(({ key, value }) => `[${text.slice(key.start, key.end)},${text.slice(value.start, value.end)}]`);
  report("wrong type", place, node, "[]");
  report("wrong type", place, node, `[${values.join(",")}]`);
  report("wrong type", place, node, `[${pairs.join(",")}]`);
  report("wrong type", place, node, `[${text.slice(node.start, node.end)}]`);
  report("wrong type", place, node, '"{}"');
  const inside = text.slice(node.start + 1, node.end - 1);
  const comma = inside === "" ? "" : ",";
  for (const key of ADDED_KEYS) {
    for (const value of ["null", "{}"]) {
      report("added key", place, node, `{${inside}${comma}"${key}":${value}}`);
      report("added key", place, node, `{"${key}":${value}${comma}${inside}}`);
    }
  }
  if (inside !== "") report("dropped key", `${place}.*`, node, `{"__proto__":{${inside}}}`);
  node.members.forEach((member, index) => {
    changeMember(text, node, member, index, place, report);
  });
}

function changeMember(text: string, node: ObjectNode, member: Member, index: number, parent: string, report: Report): void {
  const { key, value } = member;
  const place = `${parent}.${key.value}`;
  const whole = text.slice(key.start, value.end);
  const others = node.members.filter((_, other) => other !== index).map((other) => text.slice(other.key.start, other.value.end));
  report("dropped key", place, node, `{${others.join(",")}}`);
  report("duplicate key", place, { start: key.start, end: value.end }, `${whole},${whole}`);
  const [first = "", ...rest] = key.value;
  const escaped = `"\\u${first.charCodeAt(0).toString(16).padStart(4, "0")}${rest.join("")}"`;
  report("duplicate key", place, { start: key.start, end: value.end }, `${whole},${escaped}:${text.slice(value.start, value.end)}`);
  report("duplicate key", place, { start: key.start, end: value.end }, `${escaped}:null,${whole}`);
  report("added key", place, key, JSON.stringify(key.value.toUpperCase()));
  report("lone surrogate", place, key, `"${key.value}\\ud800"`);
}

function changeString(node: StringNode, place: string, report: Report): void {
  const inner = JSON.stringify(node.value).slice(1, -1);
  for (const half of ["\\ud800", "\\udfff", "\\udc00\\ud800"]) {
    report("lone surrogate", place, node, `"${inner}${half}"`);
    report("lone surrogate", place, node, `"${half}${inner}"`);
  }
  for (const wrong of ["7", "true", "{}", "[]", `[${JSON.stringify(node.value)}]`]) report("wrong type", place, node, wrong);
  for (const wrong of ["\\u0000 no such value", " ".repeat(200)]) report("wrong string", place, node, `"${wrong}"`);
  if (node.value !== "") report("wrong string", place, node, JSON.stringify(`${node.value} `));
}

function changeNode(text: string, node: JsonNode, place: string, report: Report): void {
  switch (node.type) {
    case "object":
      changeObject(text, node, place, report);
      for (const { key, value } of node.members) changeNode(text, value, `${place}.${key.value}`, report);
      break;
    case "array":
      for (const wrong of ["{}", `{"0":0}`, '""', "0"]) report("wrong type", place, node, wrong);
      for (const wrong of ["null", "[]", "0"]) report("wrong type", place, node, `[${wrong}]`);
      for (const item of node.items) changeNode(text, item, `${place}[]`, report);
      break;
    case "string":
      changeString(node, place, report);
      break;
    case "number":
      for (const wrong of WRONG_NUMBERS) report("wrong number", place, node, wrong);
      for (const wrong of [`"${node.raw}"`, "true", "[]", "{}"]) report("wrong type", place, node, wrong);
      break;
    case "word":
      for (const wrong of node.raw === "null" ? ["[]", "{}"] : ['"true"', "1", "0", "[]", "{}"])
        report("wrong type", place, node, wrong);
      break;
    default:
      node satisfies never;
  }
}

/** A surrogate in three bytes (CESU-8), an overlong quote, a byte that UTF-8 never has, and the first of two. */
const BAD_UTF8 = [[0xed, 0xa0, 0x80], [0xc0, 0xa2], [0xff], [0xc3]];

function stringsOf(node: JsonNode, place: string): readonly { readonly start: number; readonly place: string }[] {
  switch (node.type) {
    case "string":
      return [{ start: node.start, place }];
    case "array":
      return node.items.flatMap((item) => stringsOf(item, `${place}[]`));
    case "object":
      return node.members.flatMap(({ key, value }) => stringsOf(value, `${place}.${key.value}`));
    case "number":
    case "word":
      return [];
    default:
      return node satisfies never;
  }
}

/** All mutations of `text`, which must be JSON. */
export function mutationsOf(text: string): readonly Mutation[] {
  const tree = readTree(text);
  if (tree === undefined) throw new Error("expected JSON");
  const mutations: Mutation[] = [];
  changeNode(text, tree, "", (change, place, { start, end }, replacement) => {
    const changed = text.slice(0, start) + replacement + text.slice(end);
    mutations.push({ change, place: place.slice(1), bytes: Buffer.from(changed) });
  });
  mutations.push({ change: "bad UTF-8", place: "", bytes: Buffer.from(`\ufeff${text}`) });
  for (const { start, place } of stringsOf(tree, "")) {
    for (const bad of BAD_UTF8) {
      const parts = [Buffer.from(text.slice(0, start + 1)), Buffer.from(bad), Buffer.from(text.slice(start + 1))];
      mutations.push({ change: "bad UTF-8", place, bytes: Buffer.concat(parts) });
    }
  }
  return mutations;
}
