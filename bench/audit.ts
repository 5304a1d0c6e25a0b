/** What a record costs that is on the disk before anything happens, and what it costs to verify a log of them. */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@boxmaker/edge/log";
import {
  AbsPath,
  type AuditEvent,
  AuditSeq,
  CallId,
  encodeRecordLine,
  type Hash32,
  LineSplitter,
  SessionId,
  sha256,
  Timestamp,
  ZERO_HASH,
} from "@boxmaker/proto";
import { type Checkpoint, hashLeaf, LogTrees } from "@boxmaker/proto/transparency";
import { type AuditLog, type LogMark, openAuditLog } from "../packages/brokerd/src/audit/audit-log.ts";
import { Checkpoints } from "../packages/brokerd/src/audit/checkpoints.ts";
import type { Figure } from "./figure/figure.ts";
import { median } from "./figure/sample.ts";

const C_COMPILER = "cc";
const ROUNDS = 7;
/** Short and many: what else a disk has to do changes from second to second. */
const APPEND_ROUNDS = 21;
const CALLERS = 64;
const PER_CALLER = 40;
const SEQUENTIAL_ROUNDS = 3;
const SEQUENTIAL = SEQUENTIAL_ROUNDS * PER_CALLER;
const LOG_BYTES = 1_000_000_000;
const SMALL_BYTES = 1_000_000;
const NEWEST_BYTES = 100_000;
const LOG_DAYS = 9;
const LEAVES = 100_000;
const NO_BLOBS: ReadonlyMap<never, never> = new Map<never, never>();
const THREADS = fileURLToPath(new URL("../packages/bxctl/src/audit/stretch-threads.ts", import.meta.url));
const VERIFIER = fileURLToPath(new URL("../packages/bxctl/src/audit/verify-audit.ts", import.meta.url));

/** The floor under any durable log: as many bytes, written and synced a line at a time by a program in C, which says how long that took. */
const C_SOURCE = `
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int count = atoi(argv[2]), bytes = atoi(argv[3]);
  char *line = malloc(bytes);
  memset(line, 'x', bytes);
  line[bytes - 1] = '\\n';
  int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (argc != 4 || file < 0) return 1;
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int index = 0; index < count; index++)
    if (write(file, line, bytes) != bytes || fdatasync(file) != 0) return 1;
  clock_gettime(CLOCK_MONOTONIC, &ended);
  printf("%f", (ended.tv_sec - began.tv_sec) * 1e3 + (ended.tv_nsec - began.tv_nsec) / 1e6);
  return 0;
}
`;

const SESSION = SessionId.parse("bench");
const DECIDED = Timestamp.parse("2026-01-05T08:00:00.000Z");

function eventOf(index: number): AuditEvent {
  const before = { taint: "private", untrusted: false } as const;
  return {
    kind: "decision",
    session: SESSION,
    call: CallId.parse(index),
    tool: "read_file",
    arguments: { form: "typed", values: { path: "/srv/notes/todo.md" } },
    now: DECIDED,
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

const LABEL = { taint: "private", untrusted: false } as const;
const RUN_EVENT = {
  ...eventOf(0),
  path_labels: [{ path: "/srv/notes", label: LABEL }],
  matched: [{ grant: "notes", sha256: ZERO_HASH, effect: "auto" }],
  outcome: "allowed",
  reason: null,
  grant: "notes",
  grant_sha256: ZERO_HASH,
  label: LABEL,
  raises: LABEL,
  run: {
    runtime: "podman",
    image: `sha256:${ZERO_HASH}`,
    mounts: [{ path: "/srv/notes", writable: false }],
    masked: [],
    exposed: [],
    host_exec: false,
    hosts: [],
  },
};
const RESULT_EVENT = {
  kind: "result",
  decision: 0,
  session: "bench",
  call: 0,
  status: "ok",
  sha256: ZERO_HASH,
  bytes: 1200,
  truncated: false,
  elapsed_ms: 300,
};

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

/** Made beforehand, as the program in C makes its line. */
const EVENTS = Array.from({ length: PER_CALLER }, (_, index) => eventOf(index));

async function appendInTurn(log: AuditLog, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const event of EVENTS) await log.append(event, NO_BLOBS).durable;
  }
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

async function measureAppend(directory: string): Promise<{ readonly figures: readonly Figure[]; readonly append: number }> {
  await using log = await openIn(join(directory, "audit"));
  const lineBytes = encodeRecordLine({
    seq: AuditSeq.parse(1),
    time: DECIDED,
    prev: ZERO_HASH,
    event: eventOf(1),
  }).line.length;
  const inC = compile(directory);
  const times: Record<"c" | "one" | "many", number[]> = { c: [], one: [], many: [] };
  await appendInTurn(log, SEQUENTIAL_ROUNDS);
  for (let round = 0; round < APPEND_ROUNDS; round++) {
    if (inC !== undefined) {
      times.c.push(Number(runProgram(inC, [join(directory, "c.log"), String(SEQUENTIAL), String(lineBytes + 1)])));
    }
    times.one.push(await millisOf(async () => await appendInTurn(log, SEQUENTIAL_ROUNDS)));
    times.many.push(
      await millisOf(async () => void (await Promise.all(Array.from({ length: CALLERS }, async () => await appendInTurn(log, 1))))),
    );
  }
  const perSecondOne = (SEQUENTIAL / median(times.one)) * 1000;
  const perSecondMany = ((CALLERS * PER_CALLER) / median(times.many)) * 1000;
  const rounds = `medians of ${APPEND_ROUNDS} interleaved runs`;
  const figures: Figure[] = [
    { name: "callers64", value: perSecondMany, unit: "records/s", against: null },
    {
      name: "callers64_vs_1",
      value: perSecondMany / perSecondOne,
      unit: "ratio",
      against: `one caller that waits for each record, ${rounds}`,
    },
  ];
  const append = median(times.one) / SEQUENTIAL;
  if (inC === undefined) return { figures, append };
  const against = `write and fdatasync of as many bytes in C, records/s, ${rounds}`;
  return {
    figures: [{ name: "sequential_vs_c", value: median(times.c) / median(times.one), unit: "ratio", against }, ...figures],
    append,
  };
}

/** The lines of a call that ran, as brokerd writes them: decision and result. */
function callLines(seq: number, prev: Hash32, time: Timestamp): { readonly text: string; readonly prev: Hash32 } {
  const decision = JSON.stringify({ seq, time, prev, event: { ...RUN_EVENT, call: seq } });
  const after = sha256(decision);
  const result = JSON.stringify({ seq: seq + 1, time, prev: after, event: { ...RESULT_EVENT, decision: seq, call: seq } });
  return { text: `${decision}\n${result}\n`, prev: sha256(result) };
}

/** A sound log of some days, the newest of which is a small one; returns its files. */
function writeLog(directory: string, size: number): readonly string[] {
  mkdirSync(directory);
  let prev = ZERO_HASH;
  let seq = 1;
  return Array.from({ length: LOG_DAYS }, (_, index) => {
    const day = `2026-01-${String(index + 1).padStart(2, "0")}`;
    const time = Timestamp.parse(`${day}T08:00:00.000Z`);
    const path = join(directory, `${day}.jsonl`);
    const file = openSync(path, "w");
    const wanted = index === LOG_DAYS - 1 ? NEWEST_BYTES : size / (LOG_DAYS - 1);
    for (let bytes = 0; bytes < wanted; ) {
      let lines = "";
      while (lines.length < Math.min(1_000_000, wanted)) {
        const call = callLines(seq, prev, time);
        lines += call.text;
        prev = call.prev;
        seq += 2;
      }
      bytes += writeSync(file, lines);
    }
    closeSync(file);
    return path;
  });
}

/** The checkpoint over all of a log. */
function checkpointOf(files: readonly string[]): Checkpoint {
  const trees = new LogTrees();
  let seq = 0;
  for (const file of files) {
    const splitter = new LineSplitter(({ content }) => {
      if (content !== undefined) trees.add({ seq: ++seq, event: { kind: "decision" } }, hashLeaf(content));
    });
    splitter.push(readFileSync(file));
    splitter.end();
  }
  return { origin: trees.tree?.origin ?? "", size: seq, root: trees.root(), extensions: [] };
}

async function measureVerify(audit: string, files: readonly string[]): Promise<readonly Figure[]> {
  const claim = JSON.stringify({ checkpoint: checkpointOf(files), by: [] });
  // As bxctl begins, without what it loads for its other commands.
  const scriptOf = (options: string): string => `
    (await import("node:v8")).setFlagsFromString("--semi-space-growth-factor=1");
    const { StretchThreads } = await import(${JSON.stringify(THREADS)});
    const threads = await StretchThreads.startFor(${JSON.stringify(audit)});
    const { verifyAudit } = await import(${JSON.stringify(VERIFIER)});
    process.exitCode = await verifyAudit(${JSON.stringify(audit)}, { write: () => {} }, { ...${options}, threads });
    process.stdout.write(String(process.resourceUsage().maxRSS / 1024));`;
  const times: Record<"chain" | "tree" | "sum", number[]> = { chain: [], tree: [], sum: [] };
  const memory: number[] = [];
  const verify = (options: string): Promise<number> =>
    millisOf(() => void memory.push(Number(runProgram(process.execPath, ["--input-type=module", "-e", scriptOf(options)]))));
  for (let round = 0; round < 3; round++) {
    times.chain.push(await verify("{}"));
    times.sum.push(await millisOf(() => void runProgram("sha256sum", files)));
    times.tree.push(await verify(`{ claim: ${claim} }`));
  }
  const megabytes = Math.round(files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6);
  const against = `sha256sum of the same ${megabytes} MB, bytes/s, medians of 3 interleaved runs on ${availableParallelism()} processors`;
  return [
    { name: "verify_chain_vs_sha256sum", value: median(times.sum) / median(times.chain), unit: "ratio", against },
    { name: "verify_tree_vs_sha256sum", value: median(times.sum) / median(times.tree), unit: "ratio", against },
    { name: "verify_rss", value: Math.max(...memory), unit: "MiB", against: `a log of ${megabytes} MB` },
  ];
}

/** Opens a log as a start does that has a saved state and a checkpoint, and closes it again. */
async function startFrom(audit: string, keys: string, from: LogMark | undefined): Promise<LogMark> {
  const warn = (line: string): void => void process.stderr.write(`${line}\n`);
  await using checkpoints = new Checkpoints({ keys: AbsPath.parse(keys), clock: systemClock, every: 1_000_000, warn });
  const opening = await openAuditLog({
    directory: AbsPath.parse(audit),
    clock: systemClock,
    onRecord: () => undefined,
    onRestart: () => undefined,
    from,
    checkpoints,
    warn,
  });
  if (opening.kind === "refused") throw new Error(opening.problem);
  await using log = opening.log;
  if (from === undefined) await checkpoints.start();
  return log.mark;
}

/** A start reads the newest day, of the same size in both, and single lines of the days before. */
async function measureStart(directory: string, large: string): Promise<Figure> {
  const small = join(directory, "small");
  writeLog(small, SMALL_BYTES);
  const marks = {
    large: await startFrom(large, join(directory, "keys-large"), undefined),
    small: await startFrom(small, join(directory, "keys-small"), undefined),
  };
  const times: Record<"large" | "small", number[]> = { large: [], small: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.large.push(await millisOf(async () => void (await startFrom(large, join(directory, "keys-large"), marks.large))));
    times.small.push(await millisOf(async () => void (await startFrom(small, join(directory, "keys-small"), marks.small))));
  }
  const against = `a log of ${SMALL_BYTES / 1e6} MB with as much in its newest day, medians of ${ROUNDS} interleaved runs`;
  return { name: "start_1gb_vs_1mb", value: median(times.large) / median(times.small), unit: "ratio", against };
}

/** What a record costs the tree, beside what it costs to make it durable. */
function shareOfTree(append: number): Figure {
  const line = Buffer.from(callLines(1, ZERO_HASH, Timestamp.parse("2026-01-05T08:00:00.000Z")).text.split("\n")[0] ?? "");
  const trees = new LogTrees();
  const started = performance.now();
  for (let seq = 1; seq <= LEAVES; seq++) trees.add({ seq, event: { kind: "decision" } }, hashLeaf(line));
  const each = (performance.now() - started) / LEAVES;
  return { name: "tree_share_of_append", value: each / append, unit: "share", against: "one caller's append, from call to disk" };
}

export async function run(): Promise<readonly Figure[]> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-bench-")));
  try {
    const large = join(directory, "large");
    const files = writeLog(large, LOG_BYTES);
    const { figures, append } = await measureAppend(directory);
    return [...figures, shareOfTree(append), ...(await measureVerify(large, files)), await measureStart(directory, large)];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
