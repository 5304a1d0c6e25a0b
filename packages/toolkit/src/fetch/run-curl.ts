/** Runs curl once, and keeps a bounded part of what it prints. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { escapeText } from "@boxmaker/proto";
import { describeError } from "../system-error.ts";

/** What curl printed: the response's head and body. `isCut`: there was more. `late`: it hadn't ended by the deadline. */
export type Transfer =
  | { readonly kind: "late" }
  | { readonly kind: "response"; readonly bytes: Buffer; readonly isCut: boolean }
  | { readonly kind: "failed"; readonly problem: string };

const STDERR_KEPT = 4096;

/** What the proxy's answers mean, which curl tells by their number. */
const PROXY_SAID: Readonly<Record<string, string>> = {
  2: "the egress proxy refused it",
  4: "the host has no public address",
  5: "the host doesn't answer",
};

function failed(problem: string): Transfer {
  return { kind: "failed", problem };
}

/** Keeps the first bytes of a stream; calls `onFull` when there are more. */
function keepFirst(stream: Readable, limit: number, onFull: () => void): () => Buffer {
  const kept: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    const taken = chunk.subarray(0, limit - length);
    if (taken.length > 0) kept.push(taken);
    length += taken.length;
    if (taken.length < chunk.length) onFull();
  });
  return () => Buffer.concat(kept, length);
}

function phraseFailure(status: number | null, stderr: Buffer): string {
  const line = stderr.toString("utf8").split("\n", 1)[0]?.trim() ?? "";
  if (line === "") return status === null ? "curl was killed" : `curl: (${status}) failed without saying why`;
  const answer = status === 97 ? PROXY_SAID[/\(([0-9]+)\)$/u.exec(line)?.[1] ?? ""] : undefined;
  return escapeText(answer === undefined ? line : `${line}: ${answer}`);
}

/** Runs curl once. At most `maxBytes` are kept; it is ended as soon as there are more, and at the deadline. */
export function runCurl(args: readonly string[], program: string, maxBytes: number, deadline: AbortSignal): Promise<Transfer> {
  const { promise, resolve } = Promise.withResolvers<Transfer>();
  let curl: ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
  try {
    // Without an environment: none of curl's own variables changes what it does.
    curl = spawn(program, args, { env: {}, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    // Node throws some errors of starting a process and emits the others: both are the tool's result.
    return Promise.resolve(failed(`${program}: ${describeError(error)}`));
  }
  let isCut = false;
  const kill = (): void => void curl.kill("SIGKILL");
  const stdout = keepFirst(curl.stdout, maxBytes, () => {
    isCut = true;
    kill();
  });
  const stderr = keepFirst(curl.stderr, STDERR_KEPT, () => undefined);
  if (deadline.aborted) kill();
  deadline.addEventListener("abort", kill, { once: true });
  curl.once("error", (error) => resolve(failed(`${program}: ${describeError(error)}`)));
  curl.once("close", (status) => {
    deadline.removeEventListener("abort", kill);
    if (status === 0 || isCut) resolve({ kind: "response", bytes: stdout(), isCut });
    else resolve(deadline.aborted ? { kind: "late" } : failed(phraseFailure(status, stderr())));
  });
  return promise;
}
