/** Runs another role's program to its end and hands on what it prints, line by line. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Program } from "../roles/role-program.ts";

export interface ChildEnd {
  /** Null where a signal ended it, or where it couldn't be started. */
  readonly status: number | null;
  /** The last line of its standard error. */
  readonly lastError: string;
}

/** Runs it until it ends or `stop` aborts. Never rejects. */
export async function childLines(program: Program, stop: AbortSignal, onLine: (line: string) => void): Promise<ChildEnd> {
  const child = spawn(program.command, program.args, { env: program.env, stdio: ["ignore", "pipe", "pipe"] });
  let lastError = "";
  createInterface({ input: child.stdout }).on("line", onLine);
  createInterface({ input: child.stderr }).on("line", (line) => {
    lastError = line;
  });
  const end = (): void => void child.kill("SIGTERM");
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("error", (error) => {
    lastError = error.message;
    resolve(null);
  });
  child.once("close", resolve);
  const status = await promise;
  stop.removeEventListener("abort", end);
  return { status, lastError };
}
