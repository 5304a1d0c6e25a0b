/** Runs a program of the host for building images, to its end. */
import { execFile } from "node:child_process";

/** `absent`: there is no such program. `failed`: one line of what it said last. */
export type ProgramEnd =
  | { readonly kind: "ok"; readonly stdout: string }
  | { readonly kind: "absent" }
  | { readonly kind: "failed"; readonly problem: string };

const MAX_OUTPUT = 16 * 1024 * 1024;
/** What downloading through a proxy and rootless podman need; nothing else of the environment counts. */
const PASSED = [
  "HOME",
  "TMPDIR",
  "XDG_RUNTIME_DIR",
  "XDG_DATA_HOME",
  "XDG_CONFIG_HOME",
  "DBUS_SESSION_BUS_ADDRESS",
  "APT_CONFIG",
  "http_proxy",
  "https_proxy",
  "no_proxy",
] as const;

function environment(): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LC_ALL: "C.UTF-8",
  };
  for (const name of PASSED) {
    const value = process.env[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

/** Runs `program`, at most `deadlineMs` long. Never rejects. */
export function runProgram(program: string, args: readonly string[], deadlineMs: number): Promise<ProgramEnd> {
  const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
  const options = { env: environment(), timeout: deadlineMs, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT } as const;
  execFile(program, args, options, (error, stdout, stderr) => {
    if (error === null) resolve({ kind: "ok", stdout });
    else if (error.code === "ENOENT") resolve({ kind: "absent" });
    else resolve({ kind: "failed", problem: stderr.trim().split("\n").at(-1) || error.message });
  });
  return promise;
}
