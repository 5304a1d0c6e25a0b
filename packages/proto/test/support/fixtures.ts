/** The fixtures: one envelope or record per file, its exact bytes and a newline, under the name of the schema that reads it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { readRecordLine } from "../../src/audit/record-line.ts";
import {
  AdminAnswer,
  AdminRequest,
  type AnyMessage,
  ApprovalAnswer,
  ApprovalRequest,
  AuditRecord,
  Baseline,
  BoxDone,
  BoxRun,
  BrokerAnswer,
  BrokerRequest,
  canonicalJson,
  decodeMessage,
  encodeMessage,
  LoopAnswer,
  LoopRequest,
  parseJsonBytes,
  SessionRecord,
} from "../../src/index.ts";

/** What reading came to; `again` is the text that writing the value gives. */
export type FormatReading =
  | { readonly kind: "ok"; readonly value: unknown; readonly again: string }
  | { readonly kind: "refused"; readonly outcome: string; readonly detail: string };

export type ReadFormat = (bytes: Uint8Array) => FormatReading;

const HEADER_BYTES = 4;

function wire<M extends AnyMessage>(schema: z.ZodType<M>): ReadFormat {
  return (bytes) => {
    const decoded = decodeMessage(schema, bytes);
    if (decoded.kind !== "message") return { kind: "refused", outcome: decoded.kind, detail: decoded.detail };
    const again = encodeMessage(schema, decoded.envelope).toString("utf8", HEADER_BYTES);
    return { kind: "ok", value: decoded.envelope.message, again };
  };
}

function record<T>(schema: z.ZodType<T>): ReadFormat {
  return (bytes) => {
    const parsed = parseJsonBytes(schema, bytes);
    if (parsed.kind === "invalid") return { kind: "refused", outcome: "invalid", detail: parsed.problem };
    return { kind: "ok", value: parsed.value, again: canonicalJson(parsed.value) };
  };
}

/** The audit log has a reader of its own, which must refuse whatever the common one refuses. */
function auditRecord(bytes: Uint8Array): FormatReading {
  const common = record(AuditRecord)(bytes);
  const line = readRecordLine(bytes);
  if (line.kind === "ok")
    return common.kind === "ok" ? common : { kind: "ok", value: line.value, again: canonicalJson(line.value) };
  return common.kind === "refused" ? common : { kind: "refused", outcome: line.kind, detail: line.problem };
}

export const WIRE_FORMATS = [
  "LoopRequest",
  "LoopAnswer",
  "BrokerRequest",
  "BrokerAnswer",
  "AdminRequest",
  "AdminAnswer",
  "ApprovalRequest",
  "ApprovalAnswer",
] as const;

export const FORMATS: Readonly<Record<string, ReadFormat>> = {
  LoopRequest: wire(LoopRequest),
  LoopAnswer: wire(LoopAnswer),
  BrokerRequest: wire(BrokerRequest),
  BrokerAnswer: wire(BrokerAnswer),
  AdminRequest: wire(AdminRequest),
  AdminAnswer: wire(AdminAnswer),
  ApprovalRequest: wire(ApprovalRequest),
  ApprovalAnswer: wire(ApprovalAnswer),
  BoxRun: wire(BoxRun),
  BoxDone: wire(BoxDone),
  AuditRecord: auditRecord,
  SessionRecord: record(SessionRecord),
  Baseline: record(Baseline),
};

export interface Fixture {
  readonly format: string;
  readonly name: string;
  /** Without the newline that ends the file. */
  readonly text: string;
  readonly read: ReadFormat;
}

const FOLDER = join(import.meta.dirname, "../fixtures");

/** The file's text, which must end in exactly one newline; it is taken off. */
function readLine(path: string): string {
  const text = readFileSync(path, "utf8");
  if (text.indexOf("\n") !== text.length - 1) throw new Error(`${path}: expected one line and its newline`);
  return text.slice(0, -1);
}

/** Every fixture. A folder that no format reads, and a file that is no `.json`, is an error. */
export function loadFixtures(): readonly Fixture[] {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: format }) => {
    const read = FORMATS[format];
    if (read === undefined) throw new Error(`fixtures/${format}: no format has this name`);
    return readdirSync(join(FOLDER, format)).map((file) => {
      if (!file.endsWith(".json")) throw new Error(`fixtures/${format}/${file}: expected a .json file`);
      return { format, name: `${format}/${file.slice(0, -".json".length)}`, text: readLine(join(FOLDER, format, file)), read };
    });
  });
}

/** The rows of a table of cases: tab-separated, `#` begins a comment line, the first column is JSON and stands for the text. */
export function loadCases(table: string): readonly { readonly input: string; readonly columns: readonly string[] }[] {
  const lines = readFileSync(join(FOLDER, table), "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [input = "", ...columns] = line.split("\t");
      return { input: expand(JSON.parse(input)), columns };
    });
}

/** A string stands for itself, a list of `[text, count]` for the repetitions, joined. */
function expand(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw new Error("expected a string or a list of [text, count]");
  return value.map(([text, count]: [string, number]) => text.repeat(count)).join("");
}
