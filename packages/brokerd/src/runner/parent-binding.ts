/** Ends a box's program with brokerd, also where brokerd is killed while that program is only just starting. */
import { runCommand } from "./host-command.ts";

const DEADLINE_MS = 10_000;
const SETPRIV = ["setpriv", "--pdeathsig", "KILL", "--"] as const;
/** The signal comes for a parent that dies from now on; one that is gone already is another process's child by now. */
const CHECK = ["/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"'] as const;

/** What to put in front of a command line, for a parent with this id. */
export function parentBinding(parent: number): readonly string[] {
  return [...SETPRIV, ...CHECK, String(parent)];
}

/**
 * {@link parentBinding} for this process, or nothing where this machine has no setpriv (of util-linux): then a box whose start a kill -9
 * of brokerd falls into may go on to its end.
 */
export async function findParentBinding(): Promise<readonly string[]> {
  const [program, ...args] = SETPRIV;
  const result = await runCommand(program, [...args, "true"], DEADLINE_MS);
  return result.kind === "exited" && result.status === 0 ? parentBinding(process.pid) : [];
}
