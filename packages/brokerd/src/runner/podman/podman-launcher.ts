/** Boxes as podman containers: one per call, named, labelled, and gone when the call is over. */
import { randomBytes } from "node:crypto";
import type { AbsPath } from "@boxmaker/proto";
import type { Launch } from "../box-child.ts";
import type { BoxContents, ProxyContents } from "../box-contents.ts";
import { hostEnvironment, runCommand } from "../host-command.ts";
import type { AheadLauncher } from "../pool/box-pool.ts";
import type { AheadLaunch } from "../pool/waiting-box.ts";
import type { RunOutcome } from "../runtime.ts";
import type { EgressLauncher } from "../sandbox-runtime.ts";
import {
  killArguments,
  leftoverArguments,
  type PodmanBoxes,
  proxyArguments,
  removeArguments,
  runAheadArguments,
  runArguments,
} from "./podman-arguments.ts";
import { findStuckMonitors } from "./stuck-monitors.ts";

const STOP_DEADLINE_MS = 10_000;
const SWEEP_DEADLINE_MS = 60_000;

function kill(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Runtimes whose boxes see the host's very files; others hand them through, and number them anew. */
const SHARING_FILES = /(?:^|\/)(?:crun|runc)$/u;

export class PodmanLauncher implements EgressLauncher, AheadLauncher {
  readonly name = "podman";
  readonly image: string;
  readonly keepsIdentities: boolean;
  readonly #podman: string;
  readonly #ociRuntime: string;
  readonly #boxes: PodmanBoxes;
  readonly #binding: readonly string[];
  readonly #warn: (line: string) => void;

  /** `binding` is put in front of the command line of each box; `ociRuntime` is what runs it, podman's own choice included. */
  constructor(podman: string, boxes: PodmanBoxes, binding: readonly string[], ociRuntime: string, warn: (line: string) => void) {
    this.#podman = podman;
    this.#binding = binding;
    this.#ociRuntime = ociRuntime;
    this.#boxes = boxes;
    this.#warn = warn;
    this.image = boxes.image;
    this.keepsIdentities = SHARING_FILES.test(ociRuntime);
  }

  canRun(): boolean {
    return true;
  }

  refuse(): RunOutcome | undefined {
    return undefined;
  }

  launch(contents: BoxContents, limitMs: number): Launch {
    const name = this.#newName();
    return this.#launch(name, runArguments(this.#boxes, name, contents, limitMs));
  }

  launchAhead(contents: BoxContents, lifeMs: number, processFile: AbsPath): AheadLaunch {
    const name = this.#newName();
    return { ...this.#launch(name, runAheadArguments(this.#boxes, name, contents, lifeMs, processFile)), processFile };
  }

  launchProxy(contents: ProxyContents, limitMs: number): Launch {
    const name = this.#newName();
    return this.#launch(name, proxyArguments(this.#boxes, name, contents, limitMs));
  }

  get #namePrefix(): string {
    return `boxmaker-${this.#boxes.instance}-`;
  }

  #newName(): string {
    return `${this.#namePrefix}${randomBytes(8).toString("hex")}`;
  }

  #launch(name: string, command: readonly string[]): Launch {
    const [program = this.#podman, ...args] = [...this.#binding, this.#podman, ...command];
    return {
      program,
      args,
      environment: hostEnvironment(),
      filter: null,
      reportsChild: false,
      stop: async (killChild) => {
        // SIGKILL of podman's client would leave the container running, so it comes last; and once more, because the client may
        // have made its container after the first removal.
        await this.#command(killArguments(name));
        await this.#command(removeArguments([name]));
        killChild();
        const removed = await this.#command(removeArguments([name]));
        if (!removed) this.#warn(`the container ${name} could not be removed; see docs/runbook.md#leftover-containers`);
      },
    };
  }

  async #command(args: readonly string[]): Promise<boolean> {
    const result = await runCommand(this.#podman, args, STOP_DEADLINE_MS);
    return result.kind === "exited" && result.status === 0;
  }

  /** Removes every container of this brokerd. Returns how many there were, or undefined when it failed. */
  async sweep(): Promise<number | undefined> {
    const listed = await runCommand(this.#podman, leftoverArguments(this.#boxes.instance), SWEEP_DEADLINE_MS);
    if (listed.kind === "failed" || listed.status !== 0) return undefined;
    const ids = listed.stdout.split("\n").filter((line) => /^[0-9a-f]{64}$/u.test(line));
    if (ids.length > 0) {
      const removed = await runCommand(this.#podman, removeArguments(ids), SWEEP_DEADLINE_MS);
      if (removed.kind === "failed" || removed.status !== 0) return undefined;
    }
    await this.#endStuckMonitors();
    return ids.length;
  }

  /** Of a container that podman was making when it was killed with its brokerd, podman removes only what it had written down. */
  async #endStuckMonitors(): Promise<void> {
    for (const { container, processes } of await findStuckMonitors(this.#namePrefix)) {
      // It has the control groups, too; where it can't, as podman's user namespace isn't ours, at least nothing goes on.
      await runCommand(this.#ociRuntime, ["delete", "--force", container], STOP_DEADLINE_MS);
      for (const id of processes) kill(id);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = await this.sweep();
    if (left === undefined) this.#warn("containers may be left over; see docs/runbook.md#leftover-containers");
  }
}
