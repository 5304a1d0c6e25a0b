/** Audit logs with checkpoints in temporary directories, for tests. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AbsPath } from "@boxmaker/proto";
import { type CheckpointNote, readCheckpointNote, readVerifierKey, type VerifierKey } from "@boxmaker/proto/transparency";
import { type AuditLog, type AuditLogOpening, openAuditLog } from "../../src/audit/audit-log.ts";
import { type CheckpointOptions, Checkpoints } from "../../src/audit/checkpoints.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { NO_BLOBS, sessionEvent, type TempDirectory } from "./audit-fixture.ts";

export type SignedOptions = Partial<CheckpointOptions> & { readonly acceptBreak?: boolean; readonly clock?: FakeClock };

export function keysOf(temp: TempDirectory): AbsPath {
  return AbsPath.parse(join(temp.path, "broker"));
}

function checkpointsOf(temp: TempDirectory, options: SignedOptions, warnings: string[]): Checkpoints {
  const { clock = new FakeClock(), every = 1000, command } = options;
  return new Checkpoints({ keys: keysOf(temp), clock, every, command, warn: (line) => warnings.push(line) });
}

async function tryOpen(temp: TempDirectory, options: SignedOptions, checkpoints: Checkpoints): Promise<AuditLogOpening> {
  const { clock = new FakeClock(), acceptBreak = false } = options;
  const ignore = (): void => {};
  return await openAuditLog({
    directory: temp.audit,
    clock,
    acceptBreak,
    checkpoints,
    onRecord: ignore,
    onRestart: ignore,
    warn: ignore,
  });
}

export interface Signed extends AsyncDisposable {
  readonly log: AuditLog;
  readonly checkpoints: Checkpoints;
  readonly notices: readonly string[];
  readonly warnings: readonly string[];
  /** Appends this many records, and waits until they are on the disk. */
  append(count: number): Promise<void>;
}

/** Opens a log with its checkpoints, which has to succeed, and starts them. */
export async function openSigned(temp: TempDirectory, options: SignedOptions = {}): Promise<Signed> {
  const warnings: string[] = [];
  const checkpoints = checkpointsOf(temp, options, warnings);
  const opening = await tryOpen(temp, options, checkpoints);
  if (opening.kind === "refused") throw new Error(opening.problem);
  await checkpoints.start();
  const { log, notices } = opening;
  return {
    log,
    checkpoints,
    notices,
    warnings,
    append: async (count) => {
      const appended = Array.from({ length: count }, (_, index) => log.append(sessionEvent(`s-${log.head}-${index}`), NO_BLOBS));
      await Promise.all(appended.map(({ durable }) => durable));
    },
    [Symbol.asyncDispose]: async () => {
      await checkpoints[Symbol.asyncDispose]();
      await log[Symbol.asyncDispose]();
    },
  };
}

/** A whole life of a log: opened, `count` records, closed. */
export async function runSigned(temp: TempDirectory, count: number, options: SignedOptions = {}): Promise<readonly string[]> {
  await using signed = await openSigned(temp, options);
  await signed.append(count);
  return [...signed.notices, ...signed.warnings];
}

/** Tries to open, which has to be refused; returns the problem. */
export async function refusedSigned(temp: TempDirectory, options: SignedOptions = {}): Promise<string> {
  await using checkpoints = checkpointsOf(temp, options, []);
  const opening = await tryOpen(temp, options, checkpoints);
  if (opening.kind === "refused") return opening.problem;
  await opening.log[Symbol.asyncDispose]();
  throw new Error("expected the log to be refused");
}

/** The names in the folder of checkpoints. */
export function checkpointNames(temp: TempDirectory): readonly string[] {
  return readdirSync(temp.file("checkpoints")).sort();
}

/** What a file of checkpoints says. */
export function checkpointIn(temp: TempDirectory, name: string): CheckpointNote {
  const reading = readCheckpointNote(readFileSync(temp.file(`checkpoints/${name}`)));
  if (reading.kind === "invalid") throw new Error(reading.problem);
  return reading.value;
}

/** The public keys that are listed. */
export function listedKeys(temp: TempDirectory): readonly VerifierKey[] {
  const words = temp.text("checkpoints/keys").split("\n").slice(0, -1);
  return words.map((word) => {
    const reading = readVerifierKey(word);
    return reading.kind === "ok" ? reading.key : fail(reading.problem);
  });
}

function fail(problem: string): never {
  throw new Error(problem);
}
