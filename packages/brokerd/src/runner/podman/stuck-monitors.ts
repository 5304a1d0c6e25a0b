/**
 * Finds what is left of a container whose podman was killed while it was made: podman knows nothing of it any more, but its monitor waits for
 * ever for a process that waits for ever to be started.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename } from "node:path";

const PROCESSES = "/proc";
const MONITOR = "conmon";
/** What a monitor of a container that has ended starts last: that one ends by itself. */
const CLEANER = "podman";

/** A monitor without a container. */
export interface StuckMonitor {
  /** The container that it was for; 64 hex digits. */
  readonly container: string;
  /** Itself, behind what it waits for. */
  readonly processes: readonly number[];
}

async function readWords(id: string, file: string, separator: string): Promise<readonly string[]> {
  try {
    return (await readFile(`${PROCESSES}/${id}/${file}`, "latin1")).split(separator).filter((word) => word !== "");
  } catch {
    // It has ended meanwhile, or can't be looked at, so that it's nothing of ours.
    return [];
  }
}

/** The value behind an option of a command line. */
function valueBehind(command: readonly string[], option: string): string {
  return command[command.indexOf(option) + 1] ?? "";
}

/** Another user's process can call itself what it likes. */
async function isOwn(id: string): Promise<boolean> {
  try {
    return (await stat(`${PROCESSES}/${id}`)).uid === process.getuid?.();
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

async function programOf(id: string): Promise<string> {
  return basename((await readWords(id, "cmdline", "\0"))[0] ?? "");
}

async function stuckMonitor(id: string, prefix: string): Promise<StuckMonitor | undefined> {
  const command = await readWords(id, "cmdline", "\0");
  const container = valueBehind(command, "-c");
  if (basename(command[0] ?? "") !== MONITOR || !valueBehind(command, "-n").startsWith(prefix)) return undefined;
  if (!/^[0-9a-f]{64}$/u.test(container) || !(await isOwn(id))) return undefined;
  const children = await readWords(id, `task/${id}/children`, " ");
  const programs = await Promise.all(children.map(programOf));
  return programs.every((program) => program === CLEANER) ? undefined : { container, processes: [...children, id].map(Number) };
}

/**
 * The monitors of containers whose names begin with `prefix`: to be asked for when no such container is left.
 *
 * @throws {Error} when processes can't be listed
 */
export async function findStuckMonitors(prefix: string): Promise<readonly StuckMonitor[]> {
  const ids = (await readdir(PROCESSES)).filter((name) => /^[1-9][0-9]*$/u.test(name));
  const found = await Promise.all(ids.map((id) => stuckMonitor(id, prefix)));
  return found.filter((monitor) => monitor !== undefined);
}
