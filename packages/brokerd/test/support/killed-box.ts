/** One box whose brokerd is killed again and again under load, and what its log must say after each time. */
import { randomInt } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { mkdirSync } from "node:fs";
import { type ApprovalId, type BrokerRequest, CallId, SessionId } from "@boxmaker/proto";
import type { Sandbox } from "../runner/sandboxes.ts";
import { type Acknowledged, AcknowledgedCheck, keyOf } from "./acknowledged.ts";
import { BoxTraces } from "./box-traces.ts";
import { ask, Client } from "./client.ts";
import { adminOf, brokerOf, Daemon, type DaemonOptions } from "./daemon.ts";
import { LogTail } from "./log-tail.ts";
import { BoxFiles } from "./rig.ts";

/** Sessions that each send one call after the other, so many as each runtime has time for. */
export const LOAD_SESSIONS = 64;
const SANDBOX_SESSIONS = 8;
/** Those whose calls run boxes. */
const BUSY_SESSIONS = 4;
/** One in so many lives is ended while it begins. */
const EARLY_EVERY = 8;
/** A sandbox is tried before it serves. */
const EARLY_MS = { process: 1000, sandbox: 4000 };
const LEFTOVERS_MS = 20_000;

/** No limit is reached by the load: what is denied is denied by policy. */
const CONFIG = `
[approvals]
per_hour = 100000
max_pending = 10000
[sessions]
per_minute = 100000
[limits]
connections = 1024
[runner]
`;
const PROCESS_RUNNER = 'runtime = "process"\nmax_boxes = 2\n';

export interface KilledBoxOptions extends Pick<DaemonOptions, "program" | "environment"> {
  /** The toolkit, where it isn't beside the program. */
  readonly toolkit?: string;
  /** What boxes are made with; the process runtime unless given. */
  readonly sandbox?: Sandbox;
}

export class KilledBox implements AsyncDisposable {
  readonly files = new BoxFiles();
  readonly check: AcknowledgedCheck;
  kills = 0;
  answers = 0;
  /** Answers that are a box's. */
  results = 0;
  /** Of boxes of a life that was over: what was there when the next brokerd had begun. */
  readonly leftovers: string[] = [];
  readonly #options: KilledBoxOptions;
  readonly #tail: LogTail;
  readonly #told: Acknowledged[] = [];
  readonly #events = new EventEmitter();
  readonly #traces: BoxTraces;
  readonly #next: number[];

  constructor(options: KilledBoxOptions = {}) {
    this.#options = options;
    const { files } = this;
    const [acts, asked] = [files.at("acts"), files.at("asked")];
    for (const folder of [acts, asked]) mkdirSync(folder);
    mkdirSync(files.at("audit"), { mode: 0o700 });
    // A result of one session mustn't keep it from the next call.
    const always = 'if_untrusted = "auto"\nmax_taint = "secret"';
    files.grant("act", "write_file", "auto", always, [acts]);
    files.grant("fetch", "http_fetch", "auto", always);
    files.grant("write", "write_file", "ask", 'max_taint = "secret"', [asked]);
    this.check = new AcknowledgedCheck([acts, asked]);
    this.#tail = new LogTail(files.at("audit"));
    this.#traces = new BoxTraces(files.path, options.sandbox?.name ?? "process");
    this.#next = Array.from({ length: options.sandbox === undefined ? LOAD_SESSIONS : SANDBOX_SESSIONS }, () => 0);
  }

  /**
   * Starts brokerd, puts it under load, kills it at any moment, and looks at what it left.
   *
   * @param isEarly kills it while it begins
   */
  async life(isEarly: boolean = randomInt(EARLY_EVERY) === 0): Promise<void> {
    await using daemon = this.#start();
    const earlyMs = this.#options.sandbox === undefined ? EARLY_MS.process : EARLY_MS.sandbox;
    if (isEarly) await Promise.race([daemon.ready, new Promise((wake) => setTimeout(wake, randomInt(earlyMs)))]);
    else {
      await daemon.ready;
      await this.#lookForLeftovers(daemon);
      this.check.read(this.#tail.read());
      this.check.started();
      await this.#loadUntilKilled(daemon);
    }
    daemon.kill("SIGKILL");
    const { signal, stderr } = await daemon.ended;
    if (signal !== "SIGKILL") this.check.unsound.push(`brokerd ended by itself: ${stderr}`);
    this.kills++;
    this.#traces.remember();
    this.check.read(this.#tail.read());
    this.check.check(this.#told.splice(0));
    this.check.checkActions();
  }

  /** A last start and a clean stop: what is left then is the whole truth. */
  async finish(): Promise<void> {
    await using daemon = this.#start();
    await daemon.ready;
    this.check.read(this.#tail.read());
    this.check.started();
    await this.#lookForLeftovers(daemon);
    daemon.kill("SIGTERM");
    await daemon.ended;
    await this.#lookForLeftovers();
    this.check.checkActions();
  }

  /** How many containers were there when a life was over: none with another runtime than podman. */
  get containers(): number {
    return this.#traces.seen;
  }

  /** What was killed takes a moment to be gone, and so does the box that a start is tried with; a container of an earlier life doesn't. */
  async #lookForLeftovers(daemon?: Daemon): Promise<void> {
    this.leftovers.push(...this.#traces.containersLeft());
    const look = (): readonly string[] => this.#traces.left(daemon?.child.pid);
    for (let waited = 0; look().length > 0; waited += 50) {
      if (waited >= LEFTOVERS_MS) {
        this.leftovers.push(...look());
        return;
      }
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }

  #start(): Daemon {
    const { toolkit, sandbox } = this.#options;
    const config = `${CONFIG}${sandbox?.toml() ?? PROCESS_RUNNER}`;
    return Daemon.serve(
      this.files,
      toolkit === undefined ? config : `${config}toolkit = ${JSON.stringify(toolkit)}\n`,
      this.#options,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.files[Symbol.dispose]();
  }

  async #loadUntilKilled(daemon: Daemon): Promise<void> {
    const talking = this.#next.map((_, index) => this.#talk(index));
    // Where the other sessions' calls are then is up to the machine, and all of it has to be right.
    const isLoaded =
      this.#options.sandbox === undefined
        ? isReached(() => this.answers, randomInt(2 * this.#next.length))
        : isReached(() => this.results, 1 + randomInt(2 * BUSY_SESSIONS));
    while (!isLoaded() && !daemon.hasEnded) await once(this.#events, "answer");
    for (let turns = randomInt(20); turns > 0; turns--) await new Promise(setImmediate);
    daemon.kill("SIGKILL");
    await Promise.all(talking);
  }

  #tell(told: Acknowledged): void {
    this.#told.push(told);
    this.answers++;
    this.#events.emit("answer");
  }

  async #talk(index: number): Promise<void> {
    for (;;) {
      // brokerd may have taken a call that got no answer, so its number isn't used again.
      const call = this.#next[index] ?? 0;
      this.#next[index] = call + 1;
      try {
        if (!(await this.#call(index, call))) break;
      } catch {
        break;
      }
    }
    this.#events.emit("answer");
  }

  /** Sends one call and sees it to its end. False where brokerd has gone. */
  async #call(index: number, call: number): Promise<boolean> {
    const key = keyOf(`s-${index}`, call);
    using client = await Client.request(brokerOf(this.files), this.#requestOf(index, call));
    client.socket.on("error", () => undefined);
    for (;;) {
      const answer = (await client.next())?.message;
      if (answer?.kind === "tool_response") {
        if (answer.body.outcome === "result") this.results++;
        this.#tell({ kind: "outcome", key, outcome: answer.body });
        return true;
      }
      if (answer?.kind !== "pending_approval") return false;
      const { approval } = answer.body;
      this.#tell({ kind: "pending", key, approval });
      if (call % 3 === 0) return true;
      await this.#answer(approval, call % 3 === 1 && index < BUSY_SESSIONS ? "approved" : "refused");
    }
  }

  async #answer(approval: ApprovalId, answer: "approved" | "refused"): Promise<void> {
    const admin = adminOf(this.files);
    if (answer === "refused") {
      const said = await ask(admin, { kind: "refuse", body: { approval, reason: null } });
      if (said.kind === "ok") this.#tell({ kind: "answered", approval, answer });
      return;
    }
    const shown = await ask(admin, { kind: "approval", body: { approval } });
    if (shown.kind !== "approval_block") return;
    const said = await ask(admin, { kind: "approve", body: { approval, digest: shown.body.digest } });
    if (said.kind === "approve_result" && said.body.outcome !== "changed") this.#tell({ kind: "answered", approval, answer });
  }

  /** Few calls run a box, since a box takes as long as a hundred records. None goes out: the process runtime has no network to fetch by. */
  #requestOf(index: number, call: number): BrokerRequest {
    const pathIn = (folder: string): string => this.files.at(`${folder}/${keyOf(`s-${index}`, call)}`);
    const kind = (index + call) % 8;
    // Of a sandbox it is the boxes that matter.
    const isAct = this.#options.sandbox === undefined ? kind === 0 : kind < 6;
    const [tool, args] =
      isAct && index < BUSY_SESSIONS
        ? (["write_file", { path: pathIn("acts"), content: "act" }] as const)
        : kind < 2
          ? (["write_file", { path: pathIn("asked"), content: "asked" }] as const)
          : kind < 5 && this.#options.sandbox === undefined
            ? (["http_fetch", { url: "https://example.com/" }] as const)
            : (["read_file", { path: "/etc/hostname" }] as const);
    const body = {
      session: SessionId.parse(`s-${index}`),
      call: CallId.parse(call),
      turn: CallId.parse(call),
      tool,
      arguments: JSON.stringify(args),
    };
    return { kind: "tool_request", body };
  }
}

/** Whether a number has risen by `count` since. */
function isReached(current: () => number, count: number): () => boolean {
  const enough = current() + count;
  return () => current() >= enough;
}
