/** Boxes as podman containers: one per call, named, labelled, and gone when the call is over. */
import { randomBytes } from "node:crypto";
import type { Launch } from "../box-child.ts";
import { hostEnvironment, runCommand } from "../host-command.ts";
import type { Layer } from "../layers.ts";
import type { RunOutcome } from "../runtime.ts";
import type { Launcher } from "../sandbox-runtime.ts";
import { killArguments, leftoverArguments, type PodmanBoxes, removeArguments, runArguments } from "./podman-arguments.ts";

const STOP_DEADLINE_MS = 10_000;
const SWEEP_DEADLINE_MS = 60_000;

export class PodmanLauncher implements Launcher {
  readonly name = "podman";
  readonly image: string;
  readonly #podman: string;
  readonly #boxes: PodmanBoxes;
  readonly #warn: (line: string) => void;

  constructor(podman: string, boxes: PodmanBoxes, warn: (line: string) => void) {
    this.#podman = podman;
    this.#boxes = boxes;
    this.#warn = warn;
    this.image = boxes.image;
  }

  refuse(): RunOutcome | undefined {
    return undefined;
  }

  launch(layers: readonly Layer[], limitMs: number): Launch {
    const name = `boxmaker-${this.#boxes.instance}-${randomBytes(8).toString("hex")}`;
    return {
      program: this.#podman,
      args: runArguments(this.#boxes, name, layers, limitMs),
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
    if (ids.length === 0) return 0;
    const removed = await runCommand(this.#podman, removeArguments(ids), SWEEP_DEADLINE_MS);
    return removed.kind === "exited" && removed.status === 0 ? ids.length : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = await this.sweep();
    if (left === undefined) this.#warn("containers may be left over; see docs/runbook.md#leftover-containers");
  }
}
