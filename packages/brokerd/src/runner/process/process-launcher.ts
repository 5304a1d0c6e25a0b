/** No sandbox: the toolkit as a child of brokerd, held by Node's permission model and by its own checks. File tools only. */
import { holdsPath, type ToolName } from "@boxmaker/proto";
import type { Launch } from "../box-child.ts";
import type { BoxContents } from "../box-contents.ts";
import type { RunSpec } from "../run-spec.ts";
import type { RunOutcome } from "../runtime.ts";
import type { Launcher } from "../sandbox-runtime.ts";
import { type ProcessBoxes, processArguments } from "./process-arguments.ts";

export class ProcessLauncher implements Launcher {
  readonly name = "process";
  readonly image = null;
  readonly #boxes: ProcessBoxes;

  /** Its toolkit looks at paths by Node's permission model, which has checks of its own. */
  readonly keepsIdentities = false;

  constructor(boxes: ProcessBoxes) {
    this.#boxes = boxes;
  }

  canRun(tool: ToolName): boolean {
    return tool === "read_file" || tool === "write_file";
  }

  refuse({ request, mounts, masked }: RunSpec): RunOutcome | undefined {
    if (request.tool !== "read_file" && request.tool !== "write_file") {
      return { kind: "error", code: "unsupported", detail: `the process runtime has no ${request.tool}` };
    }
    const { path } = request.arguments;
    if (masked.some((mask) => holdsPath(mask, path))) {
      return { kind: "error", code: "mount_unusable", detail: "the path is to be hidden" };
    }
    // Node's permission flags would read it as a pattern.
    if (mounts.some((mount) => mount.path.includes("*"))) {
      return {
        kind: "error",
        code: "mount_unusable",
        detail: "a granted path has '*' in its name, which this runtime can't hold to",
      };
    }
    return undefined;
  }

  launch({ layers }: BoxContents): Launch {
    return {
      program: this.#boxes.node,
      args: processArguments(this.#boxes, layers),
      environment: {},
      filter: null,
      reportsChild: false,
      stop: async (killChild) => killChild(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A box ends with its process, which the runtime has waited for.
  }
}
