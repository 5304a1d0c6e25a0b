/**
 * What a box that was started before its call does while it waits: it runs the code of the tools once, on nothing, so that Node has read
 * and compiled it, and makes what any call may need. Nothing of it is seen from outside the box, or has to do with the call to come.
 */
import { dirname } from "node:path";
import { canonicalJson } from "@boxmaker/proto";
import { identityOf } from "./find-swapped.ts";
import { readRunBody } from "./frame-in.ts";
import { encodeDone } from "./frame-out.ts";
import { runTool } from "./run-tool.ts";
import { makePipeAhead } from "./shell.ts";

/** A box that is started for its call has its request by then. */
const WAIT_MS = 20;
const OUTPUT_CAP = 1024 * 1024;

/** Does so, unless it is disposed of first. Never throws: a box without it is slower, and nothing else. `program` is the toolkit. */
export function warmUpLater(program: string): Disposable {
  const over = new AbortController();
  const begin = (): void => void warmUp(program).catch(() => undefined);
  AbortSignal.timeout(WAIT_MS).addEventListener("abort", begin, { once: true, signal: over.signal });
  return { [Symbol.dispose]: () => over.abort() };
}

async function warmUp(program: string): Promise<void> {
  const root = dirname(program);
  const mounts = [{ path: root, source: identityOf(root), shown: true }];
  const requests = [
    { tool: "read_file", arguments: { path: program } },
    { tool: "shell", arguments: { command: ":" } },
  ];
  for (const request of requests) {
    const body = { request, roots: [root], mounts, output_cap: OUTPUT_CAP, fetch: null };
    const run = readRunBody(Buffer.from(canonicalJson({ v: 1, id: 0, final: true, kind: "box_run", body })));
    if (run.kind === "run") encodeDone(run.id, await runTool(run.body));
  }
  makePipeAhead();
}
