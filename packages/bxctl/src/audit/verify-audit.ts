/** `bxctl audit verify`: is the log whole, and what does it leave open? Offline and read-only, also while brokerd writes. */
import { lstat } from "node:fs/promises";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import { escapeText, listLog, phraseBreak, quoteText, unreachable } from "@boxmaker/proto";
import { reportSound } from "./audit-report.ts";
import { verifyFiles } from "./verify-files.ts";

/** What verifying came to, as a process ends: 0 sound, 1 broken or unreadable, 2 no such directory. */
export type VerifyStatus = 0 | 1 | 2;

/** Where the report goes, in whole lines. Must not throw. */
export interface VerifyOutput {
  readonly write: (text: string) => void;
}

/** Whether `directory` can be verified at all: one line that says why not, or undefined. */
async function findMissing(directory: string): Promise<string | undefined> {
  try {
    return (await lstat(directory)).isDirectory() ? undefined : "it is a link or a file, expected a directory";
  } catch (error) {
    // Missing or out of reach comes to the same: there is nothing to verify.
    return error instanceof Error ? error.message : "an unknown error";
  }
}

/**
 * Verifies the audit log in `directory` and writes a report: `audit: ok, N records` and what the log leaves open, or one line for the
 * first failure. Never throws for what is in the directory.
 */
export async function verifyAudit(directory: string, { write }: VerifyOutput): Promise<VerifyStatus> {
  const refuse = (problem: string): void => {
    write(`audit: cannot verify ${quoteText(directory)}: ${escapeText(problem)}; see docs/runbook.md#audit-directory\n`);
  };
  const missing = await findMissing(directory);
  if (missing !== undefined) {
    refuse(missing);
    return 2;
  }
  try {
    const listing = listLog(await readAuditEntries(directory));
    if (listing.kind === "refused") {
      refuse(listing.problem);
      return 1;
    }
    const { end, lists } = await verifyFiles(directory, listing.files);
    for (const name of listing.strangers) write(`audit: ${quoteText(name)} is no part of the log\n`);
    switch (end.kind) {
      case "broken":
        write(`audit: broken: ${phraseBreak(end.at)}; see docs/runbook.md#audit-broken\n`);
        return 1;
      case "whole":
      case "torn":
        write(reportSound({ head: end.head, lists, torn: end.kind === "torn" ? end.lines : [] }));
        return 0;
      default:
        return unreachable(end);
    }
  } catch (error) {
    // A log that can't be read whole hasn't been verified.
    refuse(error instanceof Error ? error.message : "an unknown error");
    return 1;
  }
}
