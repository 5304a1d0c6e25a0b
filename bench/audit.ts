/** What a record costs that is on the disk before anything happens, and what it costs to verify a log of them. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@boxmaker/edge/log";
import {
  AbsPath,
  type AuditEvent,
  AuditSeq,
  CallId,
  encodeRecordLine,
  SessionId,
  sha256,
  Timestamp,
  ZERO_HASH,
} from "@boxmaker/proto";
import { type AuditLog, openAuditLog } from "../packages/brokerd/src/audit/audit-log.ts";
import type { Figure } from "./figure/figure.ts";
import { median } from "./figure/sample.ts";

const C_COMPILER = "cc";
const ROUNDS = 7;
const SEQUENTIAL = 300;
const CALLERS = 64;
const PER_CALLER = 40;
const LOG_BYTES = 64 * 1024 * 1024;
const NO_BLOBS: ReadonlyMap<never, never> = new Map<never, never>();
const VERIFIER = fileURLToPath(new URL("../packages/bxctl/src/audit/verify-audit.ts", import.meta.url));

/** The floor under any durable log: the same lines, each written and synced, by a program in C. */
const C_SOURCE = `
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int count = atoi(argv[2]), bytes = atoi(argv[3]);
  char *line = malloc(bytes);
  memset(line, 'x', bytes);
  line[bytes - 1] = '\\n';
  int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (argc != 4 || file < 0) return 1;
  for (int index = 0; index < count; index++)
    if (write(file, line, bytes) != bytes || fdatasync(file) != 0) return 1;
  return 0;
}
`;

function eventOf(index: number): AuditEvent {
  const before = { taint: "private", untrusted: false } as const;
  return {
    kind: "decision",
    session: SessionId.parse("bench"),
    call: CallId.parse(index),
    tool: "read_file",
    arguments: { form: "typed", values: { path: "/srv/notes/todo.md" } },
    now: Timestamp.parse("2026-01-05T08:00:00.000Z"),
    policy_version: 1,
    before,
    path_labels: [],
    uses_left: [],
    matched: [],
    outcome: "denied",
    reason: "no_grant",
    grant: null,
    grant_sha256: null,
    label: null,
    raises: null,
    spends: null,
    run: null,
  };
}

async function openIn(directory: string): Promise<AuditLog> {
  const opening = await openAuditLog({
    directory: AbsPath.parse(directory),
    clock: systemClock,
    onRecord: () => undefined,
    warn: (line) => process.stderr.write(`${line}\n`),
  });
  if (opening.kind === "refused") throw new Error(opening.problem);
  return opening.log;
}

async function millisOf(work: () => Promise<void> | void): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function appendInTurn(log: AuditLog, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await log.append(eventOf(index), NO_BLOBS).durable;
}

function runProgram(program: string, args: readonly string[]): string {
  const run = spawnSync(program, args, { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${program} ended with ${run.status ?? run.signal}: ${run.stderr}`);
  return run.stdout;
}

/** The program in C, or undefined where there is no compiler. */
function compile(directory: string): string | undefined {
  const program = join(directory, "append");
  writeFileSync(`${program}.c`, C_SOURCE);
  return spawnSync(C_COMPILER, ["-O2", "-o", program, `${program}.c`]).status === 0 ? program : undefined;
}

async function measureAppend(directory: string): Promise<readonly Figure[]> {
  await using log = await openIn(join(directory, "audit"));
  const lineBytes = encodeRecordLine({
    seq: AuditSeq.parse(1),
    time: Timestamp.parse("2026-01-05T08:00:00.000Z"),
    prev: ZERO_HASH,
    event: eventOf(1),
  }).line.length;
  const inC = compile(directory);
  const times: Record<"c" | "one" | "many", number[]> = { c: [], one: [], many: [] };
  await appendInTurn(log, SEQUENTIAL);
  for (let round = 0; round < ROUNDS; round++) {
    if (inC !== undefined) {
      times.c.push(
        await millisOf(() => void runProgram(inC, [join(directory, "c.log"), String(SEQUENTIAL), String(lineBytes + 1)])),
      );
    }
    times.one.push(await millisOf(async () => await appendInTurn(log, SEQUENTIAL)));
    times.many.push(
      await millisOf(
        async () => void (await Promise.all(Array.from({ length: CALLERS }, async () => await appendInTurn(log, PER_CALLER)))),
      ),
    );
  }
  const perSecondOne = (SEQUENTIAL / median(times.one)) * 1000;
  const perSecondMany = ((CALLERS * PER_CALLER) / median(times.many)) * 1000;
  const rounds = `medians of ${ROUNDS} interleaved runs`;
  const figures: Figure[] = [
    { name: "callers64", value: perSecondMany, unit: "records/s", against: null },
    {
      name: "callers64_vs_1",
      value: perSecondMany / perSecondOne,
      unit: "ratio",
      against: `one caller that waits for each record, ${rounds}`,
    },
  ];
  if (inC === undefined) return figures;
  const against = `write and fdatasync of the same bytes in C, records/s, ${rounds}`;
  return [{ name: "sequential_vs_c", value: median(times.c) / median(times.one), unit: "ratio", against }, ...figures];
}

/** A sound log of one day; returns its file. */
function writeLog(directory: string): string {
  mkdirSync(directory);
  const path = join(directory, "2026-01-05.jsonl");
  const file = openSync(path, "w");
  const time = Timestamp.parse("2026-01-05T08:00:00.000Z");
  let prev = ZERO_HASH;
  let lines = "";
  let bytes = 0;
  for (let seq = 1; bytes < LOG_BYTES; seq++) {
    const { line } = encodeRecordLine({ seq: AuditSeq.parse(seq), time, prev, event: eventOf(seq) });
    prev = sha256(line);
    lines += `${line}\n`;
    bytes += line.length + 1;
    if (lines.length < 1_000_000) continue;
    writeSync(file, lines);
    lines = "";
  }
  writeSync(file, lines);
  closeSync(file);
  return path;
}

async function measureVerify(directory: string): Promise<readonly Figure[]> {
  const audit = join(directory, "verify");
  const file = writeLog(audit);
  const script = `
    const { verifyAudit } = await import(${JSON.stringify(VERIFIER)});
    process.exitCode = await verifyAudit(${JSON.stringify(audit)}, { write: () => {} });
    process.stdout.write(String(process.resourceUsage().maxRSS / 1024));`;
  const times: Record<"verify" | "sum", number[]> = { verify: [], sum: [] };
  const memory: number[] = [];
  for (let round = 0; round < 3; round++) {
    times.verify.push(
      await millisOf(() => void memory.push(Number(runProgram(process.execPath, ["--input-type=module", "-e", script])))),
    );
    times.sum.push(await millisOf(() => void runProgram("sha256sum", [file])));
  }
  const megabytes = Math.round(statSync(file).size / 1e6);
  const against = `sha256sum of the same ${megabytes} MB, bytes/s, medians of 3 interleaved runs`;
  return [
    { name: "verify_chain_vs_sha256sum", value: median(times.sum) / median(times.verify), unit: "ratio", against },
    { name: "verify_rss", value: Math.max(...memory), unit: "MiB", against: `a log of ${megabytes} MB` },
  ];
}

export async function run(): Promise<readonly Figure[]> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-bench-")));
  try {
    return [...(await measureAppend(directory)), ...(await measureVerify(directory))];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
