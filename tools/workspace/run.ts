/** Running the programs that the build is made of. */
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "./manifest.ts";

/**
 * The environment in which our tools find each other, and scripts the Node that runs this one, whoever started it: npm prepares
 * the same.
 */
export const TOOL_ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [dirname(process.execPath), join(ROOT, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(delimiter),
};

/** Runs a program to its end, its output shown. @throws {Error} when it fails */
export function runProgram(program: string, args: readonly string[], cwd: string): void {
  const run = spawnSync(program, args, { cwd, env: TOOL_ENVIRONMENT, stdio: ["ignore", "inherit", "inherit"] });
  if (run.error !== undefined) throw new Error(`cannot run ${program}`, { cause: run.error });
  if (run.status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${run.status ?? run.signal}`);
}
