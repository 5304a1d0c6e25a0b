/** Runs one command in a box until it is killed: `holder-program.ts RUNTIME HOME GRANT COMMAND`. */

import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { absPath, decideCall } from "./decisions.ts";
import { SANDBOXES } from "./sandboxes.ts";

const [name, home = "", grant = "", command = ""] = process.argv.slice(2);
const opening = await SANDBOXES.find((sandbox) => sandbox.name === name)?.open(absPath(home), { shell_ms: 600_000 });
if (opening?.kind !== "ready") throw new Error("expected a runtime");
const { runtime } = opening;
const decision = decideCall(runtime, { tool: "shell", arguments: { command }, paths: [grant] });
await runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
