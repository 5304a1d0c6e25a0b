/** How a role's program is started: which Node, which file, which surroundings. */
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** The programs that boxmaker starts. */
export type RoleName = "brokerd" | "loopd" | "inferproxy" | "bxctl" | "demo-model";

/** A command line and its environment. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Variables that a role may see: where programs and the user's container storage are, and how times and texts look. */
const PASSED_ON = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "XDG_RUNTIME_DIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "TZ",
  "LANG",
  "LC_ALL",
  "TMPDIR",
];
/** What the owner's own terminal program sees besides. */
const PASSED_TO_TERMINAL = [...PASSED_ON, "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES"];

function cleanEnvironment(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

/** Where the main module of a role is, whether it runs from source or from an installed package. */
export function mainOf(role: RoleName): string {
  return fileURLToPath(import.meta.resolve(`@boxmaker/${role}/main`));
}

const PRLIMIT = "/usr/bin/prlimit";
const SETPRIV = "/usr/bin/setpriv";

/**
 * The command line of a daemon: no core dumps, no debugger on a signal, a clean environment, and ended by the kernel when boxmaker ends
 * in any way (prctl(2) PR_SET_PDEATHSIG), as far as util-linux is there to say so.
 */
export function daemonProgram(role: RoleName, args: readonly string[]): Program {
  const node = [process.execPath, "--disable-sigusr1", mainOf(role), ...args];
  const wrapped = existsSync(SETPRIV) ? [SETPRIV, "--pdeathsig", "TERM", ...node] : node;
  const [command = process.execPath, ...rest] = existsSync(PRLIMIT) ? [PRLIMIT, "--core=0", ...wrapped] : wrapped;
  return { command, args: rest, env: cleanEnvironment(PASSED_ON) };
}

/** The command line of a program that talks with the owner on the terminal. */
export function terminalProgram(role: RoleName, args: readonly string[]): Program {
  return {
    command: process.execPath,
    args: ["--disable-sigusr1", mainOf(role), ...args],
    env: cleanEnvironment(PASSED_TO_TERMINAL),
  };
}

/** The shell's exit status for a process that a signal ended. */
export function statusOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
