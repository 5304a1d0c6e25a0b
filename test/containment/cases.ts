/** The tables of containment cases: what others have been caught by, row by row, and what becomes of it here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** One row. A table's first line that isn't a comment names its columns. */
export type Case = Readonly<Record<string, string>>;

/** The rows of a table of this folder. */
export function loadTable(name: string): readonly Case[] {
  const [head = "", ...lines] = readFileSync(join(import.meta.dirname, name), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const columns = head.split("\t");
  return lines.map((line) => {
    const cells = line.split("\t");
    if (cells.length !== columns.length) throw new Error(`${name}: expected ${columns.length} cells: ${line}`);
    return Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""]));
  });
}

/** A cell, which is there. */
export function cell(row: Case, column: string): string {
  const value = row[column];
  if (value === undefined) throw new Error(`no column ${column}`);
  return value;
}

/** The text that an `input` cell stands for: a JSON string, or a list of `[text, count]` to be repeated and joined. */
export function inputOf(row: Case): string {
  const value: unknown = JSON.parse(cell(row, "input"));
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw new Error(`${cell(row, "id")}: expected a string or a list of [text, count]`);
  return value.map(([text, count]: [string, number]) => text.repeat(count)).join("");
}

/** How a failed assertion names the row. */
export function titleOf(row: Case): string {
  return `${cell(row, "id")} ${cell(row, "input").slice(0, 100)}: ${cell(row, "why")}`;
}

/** The bytes of a name, in which `\udcXX` stands for the byte 0xXX. */
export function bytesOf(text: string): Buffer {
  return Buffer.concat(
    Array.from(text, (character) => {
      const code = character.charCodeAt(0);
      return code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(character);
    }),
  );
}
