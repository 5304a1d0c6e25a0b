/** Has a box wait until it is killed: `waiting-program.ts RUNTIME HOME GRANT`; makes the file `waits` beside GRANT when one does. */
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { buildRunSpec } from "../../../src/runner/run-spec.ts";
import { absPath, decideCall } from "../decisions.ts";
import { SANDBOXES } from "../sandboxes.ts";
import { startAhead } from "./start-ahead.ts";

const [name, home = "", grant = ""] = process.argv.slice(2);
const opening = await SANDBOXES.find((sandbox) => sandbox.name === name)?.open(absPath(home));
if (opening?.kind !== "ready") throw new Error("expected a runtime");
const { runtime } = opening;
const decision = decideCall(runtime, { tool: "shell", arguments: { command: "true" }, paths: [grant] });
await startAhead(runtime, buildRunSpec(decision));
writeFileSync(`${dirname(grant)}/waits`, "");
await new Promise((resolve) => setTimeout(resolve, 600_000));
