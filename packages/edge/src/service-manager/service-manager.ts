/** What a daemon tells systemd of itself: that it is ready, reloads, stops, and is still alive. Without systemd, nothing. */
import { escapeText, quoteText } from "@boxmaker/proto";
import type { Clock } from "../clock/clock.ts";
import { NOTIFY_DEADLINE_MS, NOTIFY_PROGRAM, sendNotification } from "./notify-command.ts";

export interface ServiceManagerOptions {
  /** The process's environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` of sd_notify(3) and sd_watchdog_enabled(3). */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Pick<Clock, "sleep">;
  /** Takes one printable line when a notification begins to fail. Must not throw. */
  readonly warn: (line: string) => void;
  /** The program that sends; systemd's own unless given. */
  readonly program?: string;
}

/**
 * Each promise resolves when systemd has been told, or can't be; none rejects. Notifications arrive in the order of the calls, and STOPPING
 * is the last word but the watchdog's.
 */
export interface ServiceManager extends Disposable {
  /** Up, and from now on watched by the watchdog where the unit asks for one. `status` is one printable line for `systemctl status`. */
  ready(status: string): Promise<void>;
  /** Takes in a changed configuration; {@link ServiceManager.ready} says that it is done. */
  reloading(): Promise<void>;
  /**
   * On its way down: what systemd hasn't taken by then is given up, and this word waits a second at most, so that a stop isn't held up by a
   * socket that nobody reads. The watchdog goes on until this is disposed of: a stop that hangs is noticed, too.
   */
  stopping(): Promise<void>;
}

const MICROSECONDS = 1000;
const STOPPING_DEADLINE_MS = 1000;
const POINTER = "see docs/runbook.md#systemd-notify";
const UNMANAGED: ServiceManager = {
  ready: () => Promise.resolve(),
  reloading: () => Promise.resolve(),
  stopping: () => Promise.resolve(),
  [Symbol.dispose]: () => undefined,
};

/** Half of what the unit allows, so that one late notification is forgiven. Undefined where there is no watchdog for this process. */
function watchdogMs({ environment, pid }: ServiceManagerOptions): number | undefined {
  const usec = Number(environment["WATCHDOG_USEC"] ?? "");
  const watched = environment["WATCHDOG_PID"];
  if (!Number.isSafeInteger(usec) || usec <= 0 || (watched !== undefined && watched !== String(pid))) return undefined;
  return Math.max(1, Math.floor(usec / MICROSECONDS / 2));
}

/** Reads from the environment whether systemd listens, and how. A notification that fails is said once and stops nothing. */
export function openServiceManager(options: ServiceManagerOptions): ServiceManager {
  const { environment, clock, warn, program = NOTIFY_PROGRAM } = options;
  const socket = environment["NOTIFY_SOCKET"];
  if (socket === undefined || socket === "") return UNMANAGED;
  if (!/^[/@]./u.test(socket)) {
    warn(`NOTIFY_SOCKET is ${quoteText(socket)}: expected a path or a name that begins with @; ${POINTER}`);
    return UNMANAGED;
  }
  let last: Promise<void> = Promise.resolve();
  let isFailing = false;
  let deadlineMs = NOTIFY_DEADLINE_MS;
  let current = new AbortController();
  let isStopping = false;
  const send = (...assignments: string[]): Promise<void> => {
    const { signal } = current;
    last = last.then(async () => {
      if (signal.aborted) return;
      const problem = await sendNotification(program, socket, { assignments, deadlineMs, signal });
      // What was given up hasn't failed.
      if (signal.aborted) return;
      if (problem !== undefined && !isFailing)
        warn(`systemd can't be told by ${quoteText(program)} (${escapeText(problem)}); ${POINTER}`);
      isFailing = problem !== undefined;
    });
    return last;
  };
  const periodMs = watchdogMs(options);
  const ended = new AbortController();
  let isWatched = false;
  // Comes from the same loop of events that serves: one that is stuck misses its turn, and systemd starts the unit anew.
  const watch = async (everyMs: number): Promise<void> => {
    while (!ended.signal.aborted) {
      await clock.sleep(everyMs, ended.signal);
      await send("WATCHDOG=1");
    }
  };
  return {
    ready: (status) => {
      if (isStopping) return last;
      if (periodMs !== undefined && !isWatched) {
        isWatched = true;
        // The wait ends with the daemon. Whatever else ended it, systemd takes the process for stuck: the safe side.
        watch(periodMs).catch(() => undefined);
      }
      return send("READY=1", `STATUS=${escapeText(status)}`);
    },
    reloading: () => (isStopping ? last : send("RELOADING=1")),
    stopping: () => {
      isStopping = true;
      current.abort();
      current = new AbortController();
      deadlineMs = STOPPING_DEADLINE_MS;
      return send("STOPPING=1", "STATUS=stopping");
    },
    [Symbol.dispose]: () => {
      ended.abort();
      current.abort();
    },
  };
}
