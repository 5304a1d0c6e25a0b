/** Makes audit logs with real hashes, independently of the code under test, sound or damaged on purpose. */
import { createHash } from "node:crypto";

export type LogFiles = ReadonlyMap<string, Buffer>;

export function hashOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const ZEROS = "0".repeat(64);
const LABEL = { taint: "private", untrusted: false } as const;
const RUN = {
  runtime: "podman",
  image: `sha256:${"a".repeat(64)}`,
  mounts: [{ path: "/srv/notes", writable: false }],
  masked: [],
  exposed: [],
  host_exec: false,
  hosts: [],
} as const;

export function started(head: number): object {
  return { kind: "started", version: "0.1.0", config_sha256: hashOf("config"), head, reserved: [] };
}

export function sessionOpened(session: string): object {
  return { kind: "session_opened", session, origin: "terminal", ceiling: "secret", state: LABEL, from: null };
}

export function decision(call: number, outcome: "allowed" | "ask" | "denied", path = "/srv/notes/todo.md"): object {
  const runs = outcome !== "denied";
  return {
    kind: "decision",
    session: "s-1",
    call,
    tool: "read_file",
    arguments: { form: "typed", values: { path } },
    now: "2026-01-05T08:00:00.000Z",
    policy_version: 1,
    before: LABEL,
    path_labels: [{ path: "/srv/notes", label: LABEL }],
    uses_left: [],
    matched: runs ? [{ grant: "notes", sha256: hashOf("grant"), effect: outcome === "ask" ? "ask" : "auto" }] : [],
    outcome,
    reason: runs ? null : "no_grant",
    grant: runs ? "notes" : null,
    grant_sha256: runs ? hashOf("grant") : null,
    label: runs ? LABEL : null,
    raises: runs ? LABEL : null,
    spends: null,
    run: runs ? RUN : null,
  };
}

export function approval(
  ask: number,
  answer: "approved" | "refused" | "expired" | "gone",
  outcome: "allowed" | "ask" | "denied" | "changed" | null = answer === "approved" ? "ask" : null,
  reason: string | null = null,
): object {
  const nothing = {
    denial: null,
    digest: null,
    now: null,
    grant: null,
    grant_sha256: null,
    before: null,
    raises: null,
    spends: null,
    run: null,
  };
  return { kind: "approval", decision: ask, answer, by: "bxctl", user: null, reason, outcome, ...nothing };
}

export function result(of: number, call: number): object {
  const content = { sha256: hashOf("content"), bytes: 7, truncated: false, elapsed_ms: 12 };
  return { kind: "result", decision: of, session: "s-1", call, status: "ok", ...content };
}

export function stopped(): object {
  return { kind: "stopped" };
}

/** The lines of a file's bytes, without their newlines; the last one needn't have one. */
export function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf("\n"); end !== -1; end = bytes.indexOf("\n", start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (start < bytes.length) lines.push(bytes.subarray(start));
  return lines;
}

/** Appends lines to day files as the writer does; `raw` puts in whatever a test wants instead. */
export class LogBuilder {
  readonly #files = new Map<string, Buffer[]>();
  #file = "";
  seq = 0;
  prev = ZEROS;
  time = "2026-01-05T08:00:00.000Z";

  constructor(firstDay = "2026-01-05") {
    this.day(firstDay);
  }

  /** Goes on in the file of this day. */
  day(day: string): this {
    this.#file = `${day}.jsonl`;
    this.#files.set(this.#file, []);
    this.time = `${day}T08:00:00.000Z`;
    return this;
  }

  get file(): string {
    return this.#file;
  }

  /** Bytes in the current file so far. */
  get offset(): number {
    return this.#parts().reduce((sum, part) => sum + part.length, 0);
  }

  /** The line that `add` would write next, without its newline. */
  line(event: object, changes: object = {}): string {
    return JSON.stringify({ seq: this.seq + 1, time: this.time, prev: this.prev, event, ...changes });
  }

  add(...events: readonly object[]): this {
    for (const event of events) this.chain(this.line(event));
    return this;
  }

  /** Writes this line as the next record: the one after it chains on these bytes. */
  chain(line: string): this {
    this.raw(`${line}\n`);
    this.seq++;
    this.prev = hashOf(line);
    return this;
  }

  raw(bytes: string | Uint8Array): this {
    this.#parts().push(Buffer.from(bytes));
    return this;
  }

  /** Goes on behind a break: the next record follows the last line, whatever that is, and is numbered as the next line. */
  accept(event: object): this {
    const lines = [...this.#files.values()].flatMap((parts) => splitLines(Buffer.concat(parts)));
    this.seq = lines.length;
    this.prev = hashOf(lines.at(-1) ?? "");
    return this.add(event);
  }

  /** The event that describes a torn line which begins at `offset` of the current file. */
  recovery(offset: number, torn: string | Uint8Array, changes: object = {}): object {
    return { kind: "recovery", file: this.#file, offset, bytes: Buffer.byteLength(torn), sha256: hashOf(torn), ...changes };
  }

  build(): LogFiles {
    return new Map([...this.#files].map(([name, parts]) => [name, Buffer.concat(parts)]));
  }

  #parts(): Buffer[] {
    const parts = this.#files.get(this.#file);
    if (parts === undefined) throw new Error("the builder has no file");
    return parts;
  }
}

/** Goes on with a log that was built elsewhere, in its newest file. */
export function continued(files: LogFiles): LogBuilder {
  const names = [...files.keys()].sort();
  const [first = ""] = names;
  const log = new LogBuilder(first.slice(0, "YYYY-MM-DD".length));
  for (const name of names) {
    if (name !== first) log.day(name.slice(0, "YYYY-MM-DD".length));
    log.raw(files.get(name) ?? "");
  }
  return log;
}

/** A sound log of three days and eleven records, with text beyond ASCII. */
export function soundLog(): LogBuilder {
  return new LogBuilder()
    .add(started(0), sessionOpened("s-1"), decision(1, "allowed"), result(3, 1))
    .day("2026-01-06")
    .add(decision(2, "ask", "/srv/notes/grüße-日本-🗒.md"), approval(5, "approved"), result(5, 2), decision(3, "denied"))
    .day("2026-01-08")
    .add(decision(4, "ask"), approval(9, "refused", null, "nö – not now\u2028"), stopped());
}

/** The lines of a file, without their newlines. */
export function linesOf(files: LogFiles, name: string): string[] {
  const text = files.get(name)?.toString() ?? "";
  return text.split("\n").slice(0, -1);
}

/** The log with one file made of other lines, each ended. */
export function withLines(files: LogFiles, name: string, lines: readonly string[]): LogFiles {
  return new Map([...files, [name, Buffer.from(lines.map((line) => `${line}\n`).join(""))]]);
}
