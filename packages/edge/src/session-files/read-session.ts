/** Reads a whole session: every epoch, in order, each of which begins where the one before it ended. */
import { readdir } from "node:fs/promises";
import { quoteText } from "@boxmaker/proto";
import { errnoOf } from "./errno-of.ts";
import { damaged, type EpochOnDisk, readEpoch } from "./read-epoch.ts";
import { SessionError } from "./session-error.ts";
import { epochOfLog, logFile } from "./session-names.ts";

/** The epochs that a session's folder has a log of, in rising order. None where there is no folder. @throws {SessionError} `unreadable` */
export async function listEpochs(folder: string): Promise<readonly number[]> {
  try {
    const names = await readdir(folder);
    return names
      .map(epochOfLog)
      .filter((epoch) => epoch !== undefined)
      .sort((a, b) => a - b);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    const message = `can't read the session ${quoteText(folder)}: ${errnoOf(error)}; see docs/runbook.md#session-unreadable`;
    throw new SessionError("unreadable", message, error);
  }
}

/**
 * Reads all epochs of a session. Only the last one may be without an end.
 *
 * @param growing whether a turn of it may be running: what is being written at the end is left out then
 * @throws {SessionError} `missing`, `unreadable`, or `damaged` with the line
 */
export async function readSession(folder: string, growing = false): Promise<readonly EpochOnDisk[]> {
  const numbers = await listEpochs(folder);
  if (numbers.length === 0) throw new SessionError("missing", "there is no such session");
  const epochs: EpochOnDisk[] = [];
  for (const [index, number] of numbers.entries()) {
    if (number !== index) throw damaged(logFile(folder, number), 1, `epoch ${index} is missing before it`);
    const epoch = await readEpoch(folder, number, growing && index === numbers.length - 1);
    const first = epochs[0] ?? epoch;
    if (epoch.start.origin !== first.start.origin || epoch.start.slot !== first.start.slot)
      throw damaged(logFile(folder, number), 1, "expected the origin and the slot of the epochs before it");
    if (epoch.end === undefined && index < numbers.length - 1)
      throw damaged(logFile(folder, number), epoch.records.length + 2, "expected the end of the epoch, since there is a later one");
    epochs.push(epoch);
  }
  return epochs;
}
