/** `bxctl grants test FILE`: the owner's own table of calls and what they expect of them. */
import { readFile } from "node:fs/promises";
import { type CaseOutcome, type CaseResult, parseTestTable, runTestTable } from "@boxmaker/policy/analysis";
import { decodeUtf8, escapeText, quoteText } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { end, type GrantsCommand, presentTime } from "./grants-command.ts";
import { loadOwn } from "./load-set.ts";

function phraseCase({ outcome, reason, grant }: CaseOutcome): string {
  return `${outcome}${reason === null ? "" : ` (${reason})`}${grant === null ? "" : ` by ${quoteText(grant)}`}`;
}

function failedLine(file: string, { name, line, expected, found }: CaseResult): string {
  return `${escapeText(file)}:${line}: ${quoteText(name)}: expected ${phraseCase(expected)}, found ${phraseCase(found)}`;
}

async function readTable(file: string): Promise<string | undefined> {
  try {
    return decodeUtf8(await readFile(file));
  } catch {
    // Missing, a folder, out of reach: the one line that follows says what was expected.
    return undefined;
  }
}

/** 1 where a case fails. */
export async function testGrants(command: GrantsCommand, file: string, directory: string | undefined): Promise<ExitStatus> {
  const { out, err, json } = command;
  const text = await readTable(file);
  if (text === undefined)
    return end(command, 2, `${quoteText(file)} can't be read: expected a table of cases, UTF-8 and TOML`).status;
  const table = parseTestTable(text);
  if (table.kind === "invalid") {
    for (const { line, problem } of table.problems) err.line(`${escapeText(file)}:${line}: ${escapeText(problem)}`);
    return end(command, 2, `${quoteText(file)} is no table of cases; see docs/runbook.md#grants-test-table`).status;
  }
  const loaded = await loadOwn(command, directory);
  if (loaded.kind === "ended") return loaded.status;
  const result = runTestTable(table.cases, loaded.set, presentTime());
  if (json) out.raw(jsonLine(result));
  else {
    for (const each of result.cases) if (!each.passed) out.line(failedLine(file, each));
    for (const grant of result.unexercised) out.line(`no case is about grant ${quoteText(grant)}`);
    out.line(`grants test: ${result.passed} of ${result.cases.length} cases as expected`);
  }
  return result.failed === 0 ? 0 : 1;
}
