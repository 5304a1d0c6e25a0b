/** Boxes made by bubblewrap: the host's /usr read-only, a process that dies with brokerd. */
import type { Launch } from "../box-child.ts";
import { hostEnvironment } from "../host-command.ts";
import type { Layer } from "../layers.ts";
import type { RunOutcome } from "../runtime.ts";
import type { Launcher } from "../sandbox-runtime.ts";
import { type BubblewrapBoxes, boxArguments } from "./bubblewrap-arguments.ts";

/** How a bubblewrap box is wrapped on the outside: programs that set limits and then become bubblewrap. */
export interface BubblewrapSetup {
  /** A command line that ends in bubblewrap itself. */
  readonly command: readonly [string, ...string[]];
  readonly boxes: BubblewrapBoxes;
  readonly filter: Buffer;
}

export class BubblewrapLauncher implements Launcher {
  readonly name = "bubblewrap";
  readonly image = null;
  readonly #setup: BubblewrapSetup;

  constructor(setup: BubblewrapSetup) {
    this.#setup = setup;
  }

  refuse(): RunOutcome | undefined {
    return undefined;
  }

  launch(layers: readonly Layer[]): Launch {
    const { command, boxes, filter } = this.#setup;
    const [program, ...args] = command;
    return {
      program,
      args: [...args, ...boxArguments(boxes, layers)],
      environment: hostEnvironment(),
      filter,
      reportsChild: true,
      // Everything in the box is in its process namespace and dies with bubblewrap.
      stop: async (killChild) => killChild(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A box ends with its process, which the runtime has waited for.
  }
}
