/**
 * Reads the one request. Checked by hand, not by proto's schema: loading zod would double the time that a cold box takes to start.
 * The peer is brokerd, which has parsed the call already; a test holds this reader and the schema together.
 */
import { read } from "node:fs";
import { type BoxRun, FrameDecoder, readJsonBytes, unreachable } from "@boxmaker/proto";
import { errorCode } from "./system-error.ts";

const VERSION = 1;
const CHUNK_BYTES = 64 * 1024;
const RETRY_MS = 1;

/** A request, or one line that says why there is none. */
export type RunReading =
  | { readonly kind: "run"; readonly id: number; readonly body: BoxRun["body"] }
  | { readonly kind: "misuse"; readonly problem: string };

/** Reads one frame from a descriptor, and nothing after it. */
export async function readRun(descriptor: number): Promise<RunReading> {
  const decoder = new FrameDecoder();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const step = decoder.next();
    switch (step.kind) {
      case "frame":
        return decoder.end() === "closed" ? readRunBody(step.body) : misuse("expected one frame, got more bytes after it");
      case "too_large":
        return misuse(`expected a smaller frame, got ${step.length} bytes`);
      case "incomplete":
        break;
      default:
        return unreachable(step);
    }
    const count = await readSome(descriptor, chunk);
    if (count === 0) return misuse(`expected one box_run frame on standard input, got a stream that is ${decoder.end()}`);
    decoder.push(chunk.subarray(0, count));
  }
}

function misuse(problem: string): RunReading {
  return { kind: "misuse", problem };
}

async function readSome(descriptor: number, chunk: Buffer): Promise<number> {
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    read(descriptor, chunk, 0, chunk.length, null, (error, count) => (error === null ? resolve(count) : reject(error)));
    try {
      return await promise;
    } catch (error) {
      // Someone made the pipe non-blocking: wait a moment and ask again. Every other error is the environment's.
      if (errorCode(error) !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Reads a frame's body. Exported for the test that compares it with the schema. */
export function readRunBody(bytes: Uint8Array): RunReading {
  const reading = readJsonBytes(bytes);
  if (reading.kind === "invalid") return misuse(`expected a box_run, got ${reading.problem}`);
  const envelope = reading.value;
  if (!hasKeys(envelope, ["v", "id", "final", "kind", "body"])) return misuse("expected an envelope");
  const { v, id, final, kind, body } = envelope;
  if (v !== VERSION) return misuse(`expected version ${VERSION}`);
  if (!isCount(id) || typeof final !== "boolean" || kind !== "box_run" || !isRunBody(body)) return misuse("expected a box_run");
  return { kind: "run", id, body };
}

function isRunBody(value: unknown): value is BoxRun["body"] {
  if (!hasKeys(value, ["request", "roots", "mounts", "output_cap", "fetch"])) return false;
  const { request, roots, mounts, output_cap: cap, fetch } = value;
  if (!isToolCall(request) || !Array.isArray(roots) || !roots.every(isPath)) return false;
  if (mounts !== null && !(Array.isArray(mounts) && mounts.every(isMount))) return false;
  return isLimit(cap) && (fetch === null || isTerms(fetch));
}

function isTerms(value: unknown): boolean {
  if (!hasKeys(value, ["follow_redirects", "limit_ms"])) return false;
  return typeof value["follow_redirects"] === "boolean" && isLimit(value["limit_ms"]);
}

function isToolCall(value: unknown): boolean {
  if (!hasKeys(value, ["tool", "arguments"])) return false;
  const given = value["arguments"];
  switch (value["tool"]) {
    case "read_file":
      return hasKeys(given, ["path"]) && isPath(given["path"]);
    case "write_file":
      return hasKeys(given, ["path", "content"]) && isPath(given["path"]) && typeof given["content"] === "string";
    case "shell":
      if (hasKeys(given, ["command"])) return isCommand(given["command"]);
      return hasKeys(given, ["command", "cwd"]) && isCommand(given["command"]) && isPath(given["cwd"]);
    case "http_fetch":
      return hasKeys(given, ["url"]) && typeof given["url"] === "string";
    default:
      return false;
  }
}

function hasKeys<K extends string>(value: unknown, keys: readonly K[]): value is Readonly<Record<K, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isLimit(value: unknown): boolean {
  return isCount(value) && value >= 1;
}

function isCommand(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !value.includes("\0");
}

function isMount(value: unknown): boolean {
  if (!hasKeys(value, ["path", "source", "shown"])) return false;
  const { path, source, shown } = value;
  return isPath(path) && typeof source === "string" && /^[0-9]{1,20}:[0-9]{1,20}$/u.test(source) && typeof shown === "boolean";
}

/** Absolute, in the one spelling: what the walk from a root relies on. */
function isPath(value: unknown): value is string {
  if (typeof value !== "string" || !value.startsWith("/") || value.includes("\0")) return false;
  return value
    .slice(1)
    .split("/")
    .every((component) => component !== "" && component !== "." && component !== "..");
}
