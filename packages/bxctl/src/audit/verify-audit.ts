/** `bxctl audit verify`: is the log whole, and what does it leave open? Offline and read-only, also while brokerd writes. */
import { lstat } from "node:fs/promises";
import { listDayCheckpoints, readAuditEntries, readNewestCheckpoint } from "@boxmaker/edge/audit-files";
import { dayOf, escapeText, listLog, phraseBreak, quoteText, type Timestamp } from "@boxmaker/proto";
import { jsonLine } from "../terminal/json-line.ts";
import { reportSound, reportSoundJson, type SignedPart } from "./audit-report.ts";
import type { CheckpointClaim } from "./checkpoint-claim.ts";
import { compareNewest, type NewestComparison } from "./compare-newest.ts";
import { gapsBetween, whyStale } from "./log-age.ts";
import type { StretchThreads } from "./stretch-threads.ts";
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

export interface VerifyOptions {
  /** A checkpoint that the log is held to, from a file or from beside it. */
  readonly claim?: CheckpointClaim | undefined;
  /** Writes one line of JSON instead of the report. */
  readonly json?: boolean;
  /** Without a sign of life since then the log is stale. */
  readonly oldest?: Timestamp | undefined;
  /** Threads that were started for this log. */
  readonly threads?: StretchThreads | undefined;
}

/**
 * Verifies the audit log in `directory` and writes a report: `audit: ok, N records` and what the log leaves open, or one line for the
 * first failure. Never throws for what is in the directory.
 */
export async function verifyAudit(
  directory: string,
  { write }: VerifyOutput,
  { claim, json = false, oldest, threads }: VerifyOptions = {},
): Promise<VerifyStatus> {
  const fail = (status: "broken" | "differs" | "stale" | "unreadable", problem: string): void => {
    write(json ? jsonLine({ status, problem }) : `audit: ${problem}\n`);
  };
  const refuse = (problem: string): void => {
    fail("unreadable", `cannot verify ${quoteText(directory)}: ${escapeText(problem)}; see docs/runbook.md#audit-directory`);
  };
  const missing = await findMissing(directory);
  if (missing !== undefined) {
    refuse(missing);
    return 2;
  }
  try {
    const state = listLog(await readAuditEntries(directory));
    if (state.kind === "refused") {
      refuse(state.problem);
      return 1;
    }
    const newest = await readNewestCheckpoint(directory);
    // Listed anew, so that a log that is being written has the records that its newest checkpoint covers.
    const listing = listLog(await readAuditEntries(directory));
    const { files } = listing.kind === "log" ? listing : state;
    const { end, lists, difference } = await verifyFiles(directory, files, { expected: claim?.checkpoint, started: threads });
    if (!json) for (const name of state.strangers) write(`audit: ${quoteText(name)} is no part of the log\n`);
    if (end.kind === "broken") {
      fail("broken", `broken: ${phraseBreak(end.at)}; see docs/runbook.md#audit-broken`);
      return 1;
    }
    if (claim !== undefined && difference !== undefined) {
      fail("differs", phraseDifference(claim.checkpoint.size, "checkpoint", difference));
      return 1;
    }
    // Also where the log is held to another one: what is cut off behind that one may still be signed here.
    const beside = await compareNewest({ directory, files }, newest);
    const held = claim === undefined ? "" : "; the records of the given checkpoint are all there";
    if (beside.kind === "damaged") {
      fail("unreadable", `${beside.problem}${held}; see docs/runbook.md#checkpoint-damaged`);
      return 1;
    }
    if (beside.kind === "differs") {
      fail("differs", phraseDifference(beside.size, "newest checkpoint beside it", `${beside.found}${held}`));
      return 1;
    }
    const signedDays = (await listDayCheckpoints(directory)).map(({ day }) => day);
    const stale = oldest === undefined ? undefined : whyStale(end.head, signedDays, oldest);
    if (stale !== undefined) {
      fail("stale", `stale: the log is whole, but ${stale}${held}; see docs/runbook.md#audit-stale`);
      return 1;
    }
    const torn = end.kind === "torn" ? end.lines : [];
    const recordedDays = files.filter(({ bytes }) => bytes > 0).map(({ name }) => dayOf(name));
    const gaps = gapsBetween(signedDays, recordedDays);
    const report = json ? reportSoundJson : reportSound;
    write(report({ head: end.head, lists, torn, signed: signedPart(claim, beside), gaps }));
    return 0;
  } catch (error) {
    // A log that can't be read whole hasn't been verified.
    refuse(error instanceof Error ? error.message : "an unknown error");
    return 1;
  }
}

function phraseDifference(size: number, checkpoint: string, found: string): string {
  return `the log isn't the one that was signed: expected the ${size} records of the ${checkpoint}, found ${found}; see docs/runbook.md#audit-cut`;
}

function signedPart(claim: CheckpointClaim | undefined, beside: NewestComparison): SignedPart {
  if (claim !== undefined) {
    const { origin, size } = claim.checkpoint;
    return { kind: "given", origin, size, keys: claim.by.map(({ key }) => `${key.name}+${key.id}`) };
  }
  return beside.kind === "covered" ? { kind: "beside", size: beside.size } : { kind: "chain_only" };
}
