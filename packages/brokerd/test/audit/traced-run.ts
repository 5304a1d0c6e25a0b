/** Runs the writing program with system calls that fail or kill it, and judges what is left. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import { type ChainEnd, listLog, sha256 } from "@boxmaker/proto";
import { readAll } from "../../src/audit/read-directory.ts";
import type { TempDirectory } from "./audit-fixture.ts";
import { blobText } from "./blob-text.ts";

export const WRITER_PROGRAM = new URL("writer-program.ts", import.meta.url).pathname;
/** How many records a run appends. */
export const COUNT = 6;
const DEADLINE_MS = 60_000;

const canTrace = spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0;
export const skipTraced = canTrace ? false : "strace is missing or may not trace here";

/** A run of the writing program: what it said, and whether a fault was injected. */
export interface Run {
  readonly lines: readonly string[];
  readonly isHit: boolean;
  readonly trace: string;
}

/** Every path of the log that the program touches. */
function pathsIn(home: TempDirectory): string[] {
  const days = ["05", "06", "07", "08", "09"].map((day) => home.file(`2026-01-${day}.jsonl`));
  const hashes = Array.from({ length: COUNT }, (_, index) => sha256(blobText(index)));
  const blobs = hashes.flatMap((hash) => [home.file(`blobs/.${hash}.new`), home.file(`blobs/${hash}`)]);
  return [home.audit, home.file("blobs"), home.file("grants"), ...days, ...blobs];
}

/** @param fault as strace's `inject` has it; none injects nothing */
export function runTraced(
  home: TempDirectory,
  calls: string,
  fault: string | undefined,
  mode: "usual" | "accept" | "quick" = "usual",
): Run {
  const traceFile = join(home.path, "trace");
  const inject = fault === undefined ? [] : ["-e", `inject=${calls}:${fault}`];
  const paths = pathsIn(home).flatMap((path) => ["-P", path]);
  const tracing = ["-f", "-o", traceFile, ...paths, "-e", `trace=${calls}`, ...inject];
  const program = [process.execPath, WRITER_PROGRAM, home.audit, "0", String(COUNT), mode];
  const run = spawnSync("strace", [...tracing, ...program], {
    encoding: "utf8",
    env: { ...process.env, UV_THREADPOOL_SIZE: "1" },
    timeout: DEADLINE_MS,
  });
  const trace = readFileSync(traceFile, "utf8");
  return {
    lines: run.stdout.split("\n").slice(0, -1),
    isHit: trace.includes("(INJECTED)") || trace.includes("killed by SIGKILL"),
    trace,
  };
}

/** Nothing is acknowledged after a failure, which is told once; returns the seqs that were. */
export function checkAnswers({ lines }: Pick<Run, "lines">): readonly number[] {
  const firstDenied = lines.findIndex((line) => line.startsWith("denied"));
  const lastDurable = lines.findLastIndex((line) => line.startsWith("durable"));
  if (firstDenied !== -1) {
    assert.ok(lastDurable < firstDenied, "after the first failure nothing is acknowledged");
    assert.equal(lines.filter((line) => line.startsWith("warned")).length, 1);
  }
  for (const line of lines)
    assert.match(
      line,
      /^(?:opened \d+|durable \d+|denied AuditStoppedError|done|(?:refused|warned) .+; see docs\/runbook\.md#[a-z-]+)$/u,
    );
  return lines.filter((line) => line.startsWith("durable")).map((line) => Number(line.split(" ")[1]));
}

/** What a verifier says of the log as it lies there. */
export async function judge(home: TempDirectory): Promise<ChainEnd> {
  const listing = listLog(await readAuditEntries(home.audit));
  assert(listing.kind === "log");
  return await readAll(home.audit, listing.files, { onRecord: () => {}, onDoubtful: () => {} });
}
