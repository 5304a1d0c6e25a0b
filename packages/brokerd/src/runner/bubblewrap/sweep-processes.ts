/**
 * Ends what a killed brokerd left of bubblewrap's boxes. Nearly all die with it; but of a box that was being made at that moment, the half
 * that was to be inside may wait for ever for the half outside.
 */
import { readdir, readFile } from "node:fs/promises";

const PROCESSES = "/proc";

async function readCommandLine(id: string): Promise<string> {
  try {
    return await readFile(`${PROCESSES}/${id}/cmdline`, "latin1");
  } catch {
    // It has ended meanwhile, or can't be looked at, so that it's no box of ours.
    return "";
  }
}

function kill(id: string): boolean {
  try {
    return process.kill(Number(id), "SIGKILL");
  } catch {
    // It has ended meanwhile, or isn't ours.
    return false;
  }
}

/**
 * Kills every process whose command line holds the mark: to be called before this brokerd has boxes of its own. Returns how many there
 * were.
 *
 * @throws {Error} when processes can't be listed
 */
export async function sweepProcesses(mark: string): Promise<number> {
  const ids = (await readdir(PROCESSES)).filter((name) => /^[1-9][0-9]*$/u.test(name));
  const left = await Promise.all(ids.map(async (id) => ((await readCommandLine(id)).includes(mark) ? id : undefined)));
  return left.filter((id) => id !== undefined && kill(id)).length;
}
