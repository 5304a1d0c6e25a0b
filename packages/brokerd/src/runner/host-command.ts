/** Runs a short command of the host and collects what it prints. */
import { execFile } from "node:child_process";

/** How it ended. `failed`: it could not be started, or was stopped at its deadline. */
export type CommandResult =
  | { readonly kind: "exited"; readonly status: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "failed"; readonly problem: string };

const MAX_OUTPUT = 1024 * 1024;

/** The only variables that reach a sandbox's own programs: what rootless Podman and systemd need to find the owner's session. */
const PASSED = ["HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS"] as const;
const SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The environment of the programs that make boxes; what is inside a box sees none of it. */
export function hostEnvironment(): Readonly<Record<string, string>> {
  const environment: Record<string, string> = { PATH: SEARCH_PATH };
  for (const name of PASSED) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Runs `program`, at most `deadlineMs` long. Never rejects. */
export function runCommand(program: string, args: readonly string[], deadlineMs: number): Promise<CommandResult> {
  const { promise, resolve } = Promise.withResolvers<CommandResult>();
  const options = { cwd: "/", env: hostEnvironment(), timeout: deadlineMs, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT } as const;
  const child = execFile(program, args, options, (error, stdout, stderr) => {
    const status = child.exitCode;
    // Negative where the program could not be started.
    if (status !== null && status >= 0) resolve({ kind: "exited", status, stdout, stderr });
    else resolve({ kind: "failed", problem: describe(error, child.killed, deadlineMs) });
  });
  return promise;
}

function describe(error: Error | null, killed: boolean, deadlineMs: number): string {
  if (killed) return `stopped after ${deadlineMs} ms`;
  if (error !== null && "code" in error && error.code === "ENOENT") return "not found";
  return error?.message ?? "killed";
}
