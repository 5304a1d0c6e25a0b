/** What a recording of another server has. */
import type { CannedAnswer, CannedRoutes } from "../server/canned.ts";

/** A refusal of a request for a completion. */
export interface RecordedRefusal {
  readonly status: number;
  readonly body: unknown;
}

/** The answers of one kind of server, in the shapes in which it gives them. Streams are whole bodies. */
export interface ServerRecording {
  readonly name: string;
  /** Everything but completions. */
  readonly routes: CannedRoutes;
  /** A thought, `Hello there`, and usage where the server gives it. */
  readonly text: string;
  /** One call of `clock` with `{"zone":"utc"}` and id `call_1`. */
  readonly call: string;
  /** A stream that fails after `Hel`. */
  readonly failing: string;
  /** A prompt that doesn't fit; null where the server cuts it without a word. */
  readonly overflow: RecordedRefusal | null;
}

/** One event of a stream. */
export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** The end mark. */
export const DONE = "data: [DONE]\n\n";

/** A JSON body with its status. */
export function json(status: number, body: unknown): CannedAnswer {
  return { status, body: JSON.stringify(body) };
}
