/** Writes the one answer. */
import { writeSync } from "node:fs";
import { canonicalJson, encodeFrame } from "@boxmaker/proto";
import { errorCode } from "./system-error.ts";
import type { ToolResult } from "./tool-result.ts";

const VERSION = 1;
const RETRY_MS = 1;

/** The answer's frame. The tools bound their content, so that it fits. */
export function encodeDone(id: number, { status, content, truncated }: ToolResult): Buffer {
  const body = { status, content: content.toWellFormed(), truncated };
  return encodeFrame(canonicalJson({ v: VERSION, id, final: true, kind: "box_done", body }));
}

/** Writes all bytes, in as many pieces as it takes: at `position` of a file, or, without one, where the descriptor is. */
export function writeAll(descriptor: number, bytes: Buffer, position: number | null = null): void {
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(descriptor, bytes, offset, bytes.length - offset, position === null ? null : position + offset);
    } catch (error) {
      // A full non-blocking pipe: wait for its reader. Every other error is the environment's.
      if (errorCode(error) !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
