/** An audit directory with real hashes, written as brokerd writes one. */
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ZEROS = "0".repeat(64);
export const PUBLIC = { taint: "public", untrusted: false };
export const PRIVATE = { taint: "private", untrusted: false };

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export const STARTED = { kind: "started", version: "0.1.0", config_sha256: ZEROS, head: 0, reserved: [] };

export function opened(session: string, changes: object = {}): object {
  return { kind: "session_opened", session, origin: "terminal", ceiling: "secret", state: PUBLIC, from: null, ...changes };
}

const RUN = {
  runtime: "podman",
  image: `sha256:${ZEROS}`,
  mounts: [{ path: "/srv/notes", writable: false }],
  masked: [],
  exposed: [],
  host_exec: false,
  hosts: [],
};

/** A decision about reading a file; the fields of its outcome are those that brokerd would write. */
export function decided(session: string, call: number, outcome: "allowed" | "ask" | "denied", changes: object = {}): object {
  const runs = outcome !== "denied";
  return {
    kind: "decision",
    session,
    call,
    tool: "read_file",
    arguments: { form: "typed", values: { path: "/srv/notes/todo.md" } },
    now: "2026-01-05T08:00:00.000Z",
    policy_version: 1,
    before: PUBLIC,
    path_labels: [],
    uses_left: [],
    matched: runs ? [{ grant: "notes", sha256: hashOf("grant"), effect: outcome === "ask" ? "ask" : "auto" }] : [],
    outcome,
    reason: runs ? null : "no_grant",
    grant: runs ? "notes" : null,
    grant_sha256: runs ? hashOf("grant") : null,
    label: runs ? PRIVATE : null,
    raises: outcome === "allowed" ? PRIVATE : null,
    spends: null,
    run: runs ? RUN : null,
    ...changes,
  };
}

/** The end of an ask, of which nothing was decided again unless `changes` say so. */
export function answered(decision: number, answer: "approved" | "refused" | "expired" | "gone", changes: object = {}): object {
  const outcome = answer === "approved" ? "ask" : null;
  const by = answer === "approved" || answer === "refused" ? "bxctl" : "brokerd";
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
  return { kind: "approval", decision, answer, by, user: null, reason: null, outcome, ...nothing, ...changes };
}

export function came(decision: number, session: string, call: number): object {
  const content = { sha256: ZEROS, bytes: 7, truncated: false, elapsed_ms: 12 };
  return { kind: "result", decision, session, call, status: "ok", ...content };
}

/** Appends records a second apart; the first is of 08:00 UTC on 5 January 2026. */
export class AuditFolder implements Disposable {
  readonly path: string;
  seq = 0;
  /** The time of the records from here on, instead of one by their day and seq. */
  time: string | undefined;
  #prev = ZEROS;
  #file = "2026-01-05.jsonl";

  constructor(path = mkdtempSync(join(tmpdir(), "bxctl-audit-"))) {
    this.path = path;
  }

  /** Goes on in the file of this day. */
  day(day: string): this {
    this.#file = `${day}.jsonl`;
    return this;
  }

  get file(): string {
    return join(this.path, this.#file);
  }

  /** The line that comes next, without its newline. */
  line(event: object): string {
    const time = this.time ?? `${this.#file.slice(0, 10)}T08:00:${String(this.seq % 60).padStart(2, "0")}.000Z`;
    return JSON.stringify({ seq: this.seq + 1, time, prev: this.#prev, event });
  }

  add(...events: readonly object[]): this {
    for (const event of events) {
      const line = this.line(event);
      appendFileSync(this.file, `${line}\n`);
      this.#prev = hashOf(line);
      this.seq++;
    }
    return this;
  }

  /** Keeps a text by its hash. */
  keep(folder: "blobs" | "grants", text: string): string {
    mkdirSync(join(this.path, folder), { recursive: true });
    writeFileSync(join(this.path, folder, hashOf(text)), text);
    return hashOf(text);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
