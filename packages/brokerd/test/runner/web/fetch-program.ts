/**
 * Fetches as brokerd would: `fetch-program.ts HOME CONFIG`. Each line of its input is a {@link FetchOrder} in JSON, each line of its
 * output what came of one.
 */
import { createInterface } from "node:readline";
import { openRuntime } from "../../../src/runner/open-runtime.ts";
import { buildRunSpec } from "../../../src/runner/run-spec.ts";
import { RunnerConfig } from "../../../src/runner/runner-config.ts";
import { absPath, decideCall } from "../decisions.ts";

/** `url: null`: the grants have changed. */
export interface FetchOrder {
  readonly url: string | null;
  readonly hosts: readonly string[];
  readonly args?: object;
}

const [home = "", config = ""] = process.argv.slice(2);
const warn = (line: string): void => void process.stderr.write(`${line}\n`);
const opening = await openRuntime(RunnerConfig.parse(JSON.parse(config)), { home: absPath(home), warn });
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
say(opening.kind === "ready" ? { notices: opening.notices } : opening);
if (opening.kind === "refused") process.exit(1);

const never = new AbortController().signal;
const { runtime } = opening;
for await (const line of createInterface({ input: process.stdin })) {
  const { url, hosts, args } = JSON.parse(line) as FetchOrder;
  if (url === null) {
    runtime.grantsChanged();
    say({ kind: "grants_changed" });
    continue;
  }
  const call = { tool: "http_fetch", arguments: { url }, paths: [], hosts, ...(args === undefined ? {} : { args }) } as const;
  say(await runtime.run(buildRunSpec(decideCall(runtime, call)), { signal: never }));
}
await runtime[Symbol.asyncDispose]();
