/** brokerd's core without its sockets: a real log, real grant files, the ledger, the table and the calls. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "@boxmaker/edge/log";
import { checkAddedGrant, GrantStore } from "@boxmaker/policy/grants";
import {
  AbsPath,
  type ApprovalId,
  type AuditEvent,
  type AuditRecord,
  CallId,
  type Label,
  type Origin,
  readRecordLine,
  SessionId,
  type ToolName,
  type ToolOutcome,
} from "@boxmaker/proto";
import { ApprovalTable } from "../../src/approvals/approval-table.ts";
import { Approvals } from "../../src/approvals/approvals.ts";
import type { AuditLog } from "../../src/audit/audit-log.ts";
import { type AskEnd, type NotDecided, type TellPending, ToolCalls } from "../../src/calls/tool-calls.ts";
import { Events } from "../../src/events.ts";
import { Admission } from "../../src/ledger/admission.ts";
import { Ledger, type LedgerOptions } from "../../src/ledger/ledger.ts";
import { type OpenedStates, openStates } from "../../src/ledger/open-states.ts";
import type { Allowing } from "../../src/ledger/owner-acts.ts";
import { RateLimit } from "../../src/ledger/rate-limit.ts";
import type { SessionStates } from "../../src/ledger/session-states.ts";
import { StateSaver } from "../../src/ledger/state-saver.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { FaultyLog } from "../fakes/faulty-log.ts";
import { HurriedClock } from "../fakes/hurried-clock.ts";
import { RecordingRuntime } from "../fakes/recording-runtime.ts";

/** A box's files on disk, which several lives of brokerd can use one after the other. */
export class BoxFiles implements Disposable {
  readonly path: AbsPath;

  constructor() {
    this.path = AbsPath.parse(realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-core-"))));
    for (const name of ["grants", "notes", "work"]) mkdirSync(join(this.path, name), { mode: 0o700 });
  }

  at(name: string): AbsPath {
    return AbsPath.parse(join(this.path, name));
  }

  get savedState(): AbsPath {
    return this.at("broker/snapshot.jsonl");
  }

  /** Writes a grant file; `lines` are TOML before its `[constraints]`. */
  grant(id: string, tool: string, mode: string, lines = "", paths: readonly string[] = [this.at("notes")]): void {
    const places = tool === "http_fetch" ? 'hosts = ["example.com"]' : `paths = ${JSON.stringify(paths)}`;
    const text = `id = "${id}"\ntool = "${tool}"\nmode = "${mode}"\n${lines}\n[constraints]\n${places}\n`;
    writeFileSync(join(this.path, "grants", `${id}.toml`), text, { mode: 0o600 });
  }

  /** Writes `tools.toml` or `labels.toml`. */
  rule(name: "tools.toml" | "labels.toml", text: string): void {
    writeFileSync(join(this.path, name), text, { mode: 0o600 });
  }

  removeGrant(id: string): void {
    rmSync(join(this.path, "grants", `${id}.toml`));
  }

  /** What is on disk now, whole lines only. */
  records(): readonly AuditRecord[] {
    const directory = join(this.path, "audit");
    return readdirSync(directory)
      .filter((name) => name.endsWith(".jsonl"))
      .sort()
      .flatMap((name) => readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1))
      .map((line) => {
        const reading = readRecordLine(Buffer.from(line));
        if (!("value" in reading)) throw new Error(`expected a record: ${line}`);
        return reading.value;
      });
  }

  /** The events of one kind on disk. */
  events<K extends AuditEvent["kind"]>(kind: K): readonly Extract<AuditEvent, { kind: K }>[] {
    return this.records().flatMap(({ event }) => (isKind(event, kind) ? [event] : []));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function isKind<K extends AuditEvent["kind"]>(event: AuditEvent, kind: K): event is Extract<AuditEvent, { kind: K }> {
  return event.kind === kind;
}

export interface RigOptions {
  readonly maxPending?: number;
  readonly asksPerHour?: number;
  readonly sessionsPerMinute?: number;
  readonly maxBoxes?: number;
  /** How long an ask waits, or what says so for each. */
  readonly ttlMs?: number | (() => number);
  readonly opening?: Label;
  readonly clock?: FakeClock;
  /** Records between two savings of the state; none unless given. */
  readonly saveEvery?: number;
  readonly ledger?: Partial<LedgerOptions>;
}

/** A call that has been sent: what it comes to, and what its requester was told meanwhile. */
export interface SentCall {
  readonly outcome: Promise<ToolOutcome | NotDecided>;
  /** Resolves when the requester is told that it waits. */
  readonly pending: Promise<ApprovalId>;
  readonly leave: () => void;
}

export interface CallFields {
  readonly session?: string;
  readonly call?: number;
  /** The turn that it belongs to; one of its own unless given. */
  readonly turn?: number;
  readonly origin?: Origin;
  readonly tell?: TellPending;
}

export interface AllowFields {
  readonly session?: string;
  readonly uses?: number;
}

/** A grant that has been asked for, and the end of the connection that it lives by. */
export interface GivenGrant {
  readonly allowing: Promise<Allowing>;
  readonly leave: () => void;
}

export class Rig implements AsyncDisposable {
  readonly files: BoxFiles;
  readonly clock: FakeClock;
  readonly audit: AuditLog;
  readonly log: FaultyLog;
  readonly states: SessionStates;
  /** What was found at start. */
  readonly opened: OpenedStates;
  readonly saver: StateSaver;
  readonly ledger: Ledger;
  readonly admission: Admission;
  readonly table: ApprovalTable<AskEnd>;
  readonly calls: ToolCalls;
  readonly approvals: Approvals;
  readonly events: Events;
  readonly runtime = new RecordingRuntime();
  readonly lines: string[] = [];
  isLowOnSpace = false;
  #call = 0;

  private constructor(files: BoxFiles, audit: AuditLog, opened: OpenedStates, options: RigOptions) {
    const { states } = opened;
    this.opened = opened;
    this.files = files;
    this.clock = options.clock ?? new FakeClock();
    this.audit = audit;
    this.log = new FaultyLog(audit);
    this.states = states;
    const { clock, runtime } = this;
    this.events = new Events(
      openLog(
        (line) => this.lines.push(line),
        () => clock.now(),
      ),
      clock,
    );
    const events = this.events;
    this.saver = new StateSaver({
      path: files.savedState,
      states,
      mark: () => audit.mark,
      saved: opened.saved,
      every: options.saveEvery ?? Number.POSITIVE_INFINITY,
      warn: (line) => this.lines.push(line),
    });
    this.table = new ApprovalTable(options.maxPending ?? 64, clock);
    this.admission = new Admission({
      room: this.table,
      asks: new RateLimit(options.asksPerHour ?? Number.POSITIVE_INFINITY, 3_600_000, clock),
      sessions: new RateLimit(options.sessionsPerMinute ?? Number.POSITIVE_INFINITY, 60_000, clock),
      canRun: (tool) => runtime.canRun(tool),
      isLowOnSpace: async () => this.isLowOnSpace,
    });
    const { saver } = this;
    const label: Label = options.opening ?? { taint: "public", untrusted: false };
    this.ledger = new Ledger({
      log: this.log,
      states,
      grants: new GrantStore({
        directory: files.at("grants"),
        tools: files.at("tools.toml"),
        labels: files.at("labels.toml"),
        forbidden: [files.at("audit")],
        clock: new HurriedClock(),
      }),
      admission: this.admission,
      box: { runtime: runtime.name, image: runtime.image },
      maxBoxes: options.maxBoxes ?? 1000,
      mayStillWrite: (path) => runtime.mayWrite(path),
      clock,
      newSession: async () => ({ state: label, ceiling: "secret" }),
      keepGrant: (hash, text) => audit.keepGrant(hash, text),
      checkAdded: (set, file, text) => checkAddedGrant(set, file, text, { forbidden: [files.at("audit"), files.at("grants")] }),
      onSessionGrantOver: () => runtime.grantsChanged(),
      onGrants: (set) => (set.kind === "invalid" ? events.grantsInvalid(set.problems) : events.grantsValid()),
      onStopped: (cause) => events.ledgerStopped(cause),
      onAppended: (durable) => saver.onAppended(durable),
      ...options.ledger,
    });
    const { ledger, admission, table } = this;
    const { ttlMs = 900_000 } = options;
    this.calls = new ToolCalls({
      ledger,
      admission,
      table,
      runtime,
      clock,
      events,
      get ttlMs(): number {
        return typeof ttlMs === "number" ? ttlMs : ttlMs();
      },
    });
    this.approvals = new Approvals(ledger, table, events);
  }

  static async open(files: BoxFiles, options: RigOptions = {}): Promise<Rig> {
    const log = { directory: files.at("audit"), clock: options.clock ?? new FakeClock(), warn: () => undefined };
    const opened = await openStates(log, files.savedState);
    const { opening } = opened;
    if (opening.kind === "refused") throw new Error(opening.problem);
    return new Rig(files, opening.log, opened, options);
  }

  send(tool: string, args: object | string, fields: CallFields = {}): SentCall {
    const gone = new AbortController();
    const { promise: pending, resolve } = Promise.withResolvers<ApprovalId>();
    const tell: TellPending = async (answer) => {
      const isTold = (await fields.tell?.(answer)) ?? true;
      resolve(answer.body.approval);
      return isTold;
    };
    const call = CallId.parse(fields.call ?? this.#call++);
    const request = {
      session: SessionId.parse(fields.session ?? "chat-1"),
      call,
      turn: CallId.parse(fields.turn ?? call),
      tool,
      argumentsText: typeof args === "string" ? args : JSON.stringify(args),
    };
    const outcome = this.calls.handle(request, fields.origin ?? "terminal", tell, gone.signal);
    return { outcome, pending, leave: () => gone.abort() };
  }

  read(name = "todo.md", fields: CallFields = {}): SentCall {
    return this.send("read_file", { path: this.files.at(`notes/${name}`) }, fields);
  }

  write(name = "todo.md", fields: CallFields = {}): SentCall {
    return this.send("write_file", { path: this.files.at(`notes/${name}`), content: "x" }, fields);
  }

  /** Approves what is shown now. */
  approve(id: ApprovalId, by: "bxctl" | "gateway" = "bxctl"): ReturnType<Approvals["approve"]> {
    const shown = this.table.get(id);
    if (shown === undefined) throw new Error("expected a waiting ask");
    return this.approvals.approve(id, shown.ask.digest, { by, user: null });
  }

  refuse(id: ApprovalId, reason: string | null = null): ReturnType<Approvals["refuse"]> {
    return this.approvals.refuse(id, reason, { by: "bxctl", user: null });
  }

  /** Gives a session a grant, as `allow` does. */
  allow(tool: ToolName, scope: string, fields: AllowFields = {}): GivenGrant {
    const gone = new AbortController();
    const body = { session: SessionId.parse(fields.session ?? "chat-1"), tool, scope, uses: fields.uses ?? null };
    return { allowing: this.ledger.owner.allow(body, gone.signal), leave: () => gone.abort() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.log.release();
    await this.audit[Symbol.asyncDispose]();
  }
}

/** Lets everything that is ready run, without time passing. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise(setImmediate);
}
