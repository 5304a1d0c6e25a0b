/**
 * Sends one notification to systemd by systemd's own program. Node has no datagram sockets of the Unix kind, and a package that has them
 * would bring native code into every role. It is started only where systemd has said that it listens.
 */
import { type ChildProcess, spawn } from "node:child_process";

/** How long one notification may take, and may hold back those behind it. */
export const NOTIFY_DEADLINE_MS = 5000;

/** systemd's own; a fixed path, so that nothing in the environment decides what is started. */
export const NOTIFY_PROGRAM = "/usr/bin/systemd-notify";

export interface Notification {
  /** What is sent, as sd_notify(3) writes it. */
  readonly assignments: readonly string[];
  readonly deadlineMs: number;
  /** Gives it up where it isn't sent yet. */
  readonly signal: AbortSignal;
}

/**
 * Waits until systemd has taken the message, `deadlineMs` at most. Never rejects.
 *
 * @param socket the value of `NOTIFY_SOCKET`: a path, or a name that begins with `@`
 * @returns what went wrong, in a few words, or undefined
 */
export function sendNotification(program: string, socket: string, notification: Notification): Promise<string | undefined> {
  const { assignments, deadlineMs, signal } = notification;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let child: ChildProcess;
  try {
    const env = { NOTIFY_SOCKET: socket };
    child = spawn(program, assignments, { cwd: "/", env, stdio: "ignore", timeout: deadlineMs, killSignal: "SIGKILL", signal });
  } catch (error) {
    // Some failures come at once. Who can't tell systemd goes on: systemd then does what its unit says.
    return Promise.resolve(error instanceof Error ? error.message : "can't be started");
  }
  child.once("error", (error) => resolve(error.message));
  child.once("exit", (code, stoppedBy) => {
    if (code === 0) resolve(undefined);
    else resolve(stoppedBy === null ? `ended with status ${code ?? "unknown"}` : `was stopped after ${deadlineMs} ms`);
  });
  return promise;
}
