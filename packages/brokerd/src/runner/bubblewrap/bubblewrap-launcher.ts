/** Boxes made by bubblewrap: the host's /usr read-only, a process that dies with brokerd. */
import type { ToolName } from "@boxmaker/proto";
import type { Launch } from "../box-child.ts";
import type { BoxContents, ProxyContents } from "../box-contents.ts";
import { hostEnvironment } from "../host-command.ts";
import type { AheadLauncher } from "../pool/box-pool.ts";
import type { AheadLaunch } from "../pool/waiting-box.ts";
import type { RunSpec } from "../run-spec.ts";
import type { RunOutcome } from "../runtime.ts";
import type { EgressLauncher } from "../sandbox-runtime.ts";
import { type BubblewrapBoxes, boxArguments, type HostFile, proxyArguments } from "./bubblewrap-arguments.ts";

/** How a bubblewrap box is wrapped on the outside: programs that set limits and then become bubblewrap. */
export interface BubblewrapSetup {
  /** A command line that ends in bubblewrap itself. */
  readonly command: readonly string[];
  readonly boxes: BubblewrapBoxes;
  readonly filter: Buffer;
  /** For boxes that talk by the proxy's socket. */
  readonly egressFilter: Buffer;
  /** Finds the file that says which name servers there are: at each start of a proxy, since it may be replaced at any time. */
  readonly findResolver: () => HostFile | null;
  /** Why the curl of this machine can't fetch, or null where it can. */
  readonly curlProblem: string | null;
}

export class BubblewrapLauncher implements EgressLauncher, AheadLauncher {
  readonly name = "bubblewrap";
  readonly image = null;
  readonly keepsIdentities = true;
  readonly #setup: BubblewrapSetup;

  constructor(setup: BubblewrapSetup) {
    this.#setup = setup;
  }

  canRun(tool: ToolName): boolean {
    return tool !== "http_fetch" || this.#setup.curlProblem === null;
  }

  refuse({ request }: RunSpec): RunOutcome | undefined {
    const { curlProblem } = this.#setup;
    if (this.canRun(request.tool) || curlProblem === null) return undefined;
    return { kind: "error", code: "no_curl", detail: curlProblem };
  }

  launch(contents: BoxContents): Launch {
    const { boxes, filter, egressFilter } = this.#setup;
    return this.#launch(boxArguments(boxes, contents), contents.egress === null ? filter : egressFilter);
  }

  launchAhead(contents: BoxContents): AheadLaunch {
    return { ...this.launch(contents), processFile: null };
  }

  launchProxy(contents: ProxyContents): Launch {
    const { boxes, egressFilter, findResolver } = this.#setup;
    return this.#launch(proxyArguments(boxes, contents, findResolver()), egressFilter);
  }

  #launch(boxed: readonly string[], filter: Buffer): Launch {
    const [program = "bwrap", ...args] = [...this.#setup.command, ...boxed];
    return {
      program,
      args,
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
