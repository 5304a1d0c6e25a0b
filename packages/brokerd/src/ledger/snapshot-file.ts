/** The saved state on disk: whole or not there, and never believed further than the audit log bears it out. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { type AbsPath, Hash32, quoteText } from "@boxmaker/proto";
import { makeDirectory } from "../audit/audit-directory.ts";
import type { LogMark } from "../audit/audit-log.ts";
import { phraseFailure } from "../audit/phrase-failure.ts";
import type { StatesContents } from "./session-states.ts";
import { readSnapshot, type Snapshot, snapshotEnd, snapshotLines } from "./snapshot-lines.ts";

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WRITE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const READ_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const PRIVATE_FILE = 0o600;
/** A larger one would take longer to read than the log, or isn't ours. */
const MAX_BYTES = 512 * 1024 * 1024;
/** Text that is written at once: between two pieces whoever waits for a decision gets it. */
const PIECE_CHARACTERS = 64 * 1024;

/** What is on disk; nothing where there is none or it can't be used, which `problem` says in one line. */
export interface FoundSnapshot {
  readonly snapshot: Snapshot | undefined;
  readonly problem: string | undefined;
}

function unusable(path: AbsPath, why: string): FoundSnapshot {
  const problem = `can't use the saved state ${quoteText(path)}: ${why}; the state is read from the whole audit log`;
  return { snapshot: undefined, problem: `${problem}; see docs/runbook.md#saved-state-unusable` };
}

/** Reads the file. Never rejects: without it the log is read whole. */
export async function findSnapshot(path: AbsPath): Promise<FoundSnapshot> {
  try {
    await using file = await open(path, READ);
    const stats = await file.stat();
    if (!stats.isFile()) return unusable(path, "it is no file");
    if (stats.size > MAX_BYTES) return unusable(path, "it is too large");
    const reading = readSnapshot(await file.readFile());
    return reading.kind === "snapshot" ? { snapshot: reading.snapshot, problem: undefined } : unusable(path, reading.problem);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { snapshot: undefined, problem: undefined };
    // Whatever the file system said: the log has it all.
    return unusable(path, phraseFailure(error));
  }
}

/**
 * Puts the file in place of the one before it, durably. The record that `mark` names must be durable.
 *
 * @throws {Error} of the file system; the file before it is still there then
 */
export async function writeSnapshot(path: AbsPath, mark: LogMark, contents: StatesContents): Promise<void> {
  const directory = dirname(path);
  await makeDirectory(directory);
  const temporary = `${path}.new`;
  {
    await using file = await open(temporary, WRITE_NEW, PRIVATE_FILE);
    const sum = createHash("sha256");
    let lines = 0;
    let piece = "";
    const flush = async (): Promise<void> => {
      sum.update(piece);
      await file.appendFile(piece);
      piece = "";
    };
    for (const line of snapshotLines(mark, contents)) {
      lines++;
      piece += line;
      if (piece.length >= PIECE_CHARACTERS) await flush();
    }
    await flush();
    await file.appendFile(snapshotEnd(lines, Hash32.parse(sum.digest("hex"))));
    await file.sync();
  }
  await rename(temporary, path);
  await using folder = await open(directory, READ_FOLDER);
  await folder.sync();
}
