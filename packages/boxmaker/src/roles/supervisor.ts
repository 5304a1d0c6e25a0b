/** Watches the roles of one box: says when one ends, starts it again, and stops them all in the right order. */
import type { Clock } from "@boxmaker/edge/log";
import { type Daemon, describeExit, type LineListener, type Start, startDaemon } from "./daemon.ts";
import type { Program } from "./role-program.ts";

export interface SupervisorOptions {
  readonly clock: Clock;
  /** One line for the owner. Must not throw. */
  readonly say: (line: string) => void;
  /** Takes what the role `name` writes. Must not throw. */
  readonly onLine: (name: string, line: string, stream: "stdout" | "stderr") => void;
}

export type RoleStart = { readonly kind: "ready"; readonly line: string } | Extract<Start, { kind: "failed" }>;

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
/** A role that was up for so long begins with the shortest pause again. */
const STEADY_MS = 60_000;

interface Role {
  readonly name: string;
  readonly program: Program;
  daemon: Daemon;
  /** Whether the process has ended and isn't started again yet; its end has been said then. */
  down: boolean;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #roles: Role[] = [];
  readonly #watches = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /**
   * Starts one role; it is watched from then on.
   *
   * @param again what to start where it has ended, given the line that it first said it was ready with; default: the same
   */
  async start(name: string, program: Program, again?: (readyLine: string) => Program): Promise<RoleStart> {
    const started = await this.#startDaemon(name, program);
    if (started.kind === "failed") return started;
    const role: Role = { name, program: again?.(started.line) ?? program, daemon: started.daemon, down: false };
    this.#roles.push(role);
    const watch = this.#watch(role).finally(() => this.#watches.delete(watch));
    this.#watches.add(watch);
    return { kind: "ready", line: started.line };
  }

  /** The process ids of the roles, by name. */
  get pids(): ReadonlyMap<string, number> {
    return new Map(this.#roles.flatMap(({ name, daemon }) => (daemon.pid === undefined ? [] : [[name, daemon.pid]])));
  }

  /** From here on no role is started, and one that isn't ready yet is ended. {@link Supervisor.stop} ends the others. */
  startNoMore(): void {
    this.#stopping.abort();
  }

  /** Ends the roles, the last started first, each before the next. */
  async stop(): Promise<void> {
    this.startNoMore();
    for (const role of this.#roles.toReversed()) {
      if (role.down) continue;
      const exit = await role.daemon.stop();
      if (exit.code !== 0)
        this.#options.say(`${role.name} did not end cleanly (${describeExit(exit)}); see docs/runbook.md#role-ended`);
    }
    await Promise.all(this.#watches);
  }

  #listener(name: string): LineListener {
    return (line, stream) => this.#options.onLine(name, line, stream);
  }

  #startDaemon(name: string, program: Program): Promise<Start> {
    return startDaemon(name, program, this.#listener(name), this.#options.clock, this.#stopping.signal);
  }

  async #watch(role: Role): Promise<void> {
    const { clock } = this.#options;
    let backoff = FIRST_BACKOFF_MS;
    for (;;) {
      const readyAt = clock.monotonic();
      const exit = await role.daemon.exited;
      if (clock.monotonic() - readyAt >= STEADY_MS) backoff = FIRST_BACKOFF_MS;
      if (this.#stopping.signal.aborted) return;
      role.down = true;
      this.#options.say(`${role.name} ended (${describeExit(exit)}) and is started again; see docs/runbook.md#role-ended`);
      for (;;) {
        await clock.sleep(backoff, this.#stopping.signal).catch(() => undefined);
        if (this.#stopping.signal.aborted) return;
        // Also where the next start succeeds: a role that dies as soon as it is ready mustn't be started without end and pause.
        backoff = Math.min(2 * backoff, MAX_BACKOFF_MS);
        const started = await this.#startDaemon(role.name, role.program);
        if (this.#stopping.signal.aborted) {
          if (started.kind === "ready") await started.daemon.stop();
          return;
        }
        if (started.kind === "ready") {
          role.daemon = started.daemon;
          role.down = false;
          break;
        }
        this.#options.say(`${role.name} can't be started again: ${started.problem}`);
      }
    }
  }
}
