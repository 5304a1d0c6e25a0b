/** brokerd from its configuration to its last record: the order of start and stop. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Log } from "@boxmaker/edge/log";
import type { UnixServer } from "@boxmaker/edge/socket";
import { checkAddedGrant, GrantStore } from "@boxmaker/policy/grants";
import { AbsPath, joinClass, type Label, timestampFromMillis, unreachable } from "@boxmaker/proto";
import { ApprovalTable } from "./approvals/approval-table.ts";
import { Approvals } from "./approvals/approvals.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import { BackgroundCheck } from "./audit/background-check.ts";
import { CheckpointCommand } from "./audit/checkpoint-command.ts";
import { Checkpoints } from "./audit/checkpoints.ts";
import { type AskEnd, ToolCalls } from "./calls/tool-calls.ts";
import { type Config, readConfig } from "./config/config.ts";
import { ConfigInForce } from "./config/config-in-force.ts";
import { ownPlaces } from "./config/own-places.ts";
import { Events } from "./events.ts";
import { Admission } from "./ledger/admission.ts";
import { DiskSpace } from "./ledger/disk-space.ts";
import { watchGrants } from "./ledger/grants-watch.ts";
import { Ledger } from "./ledger/ledger.ts";
import { openStates } from "./ledger/open-states.ts";
import { RateLimit } from "./ledger/rate-limit.ts";
import type { SessionStates } from "./ledger/session-states.ts";
import { StateSaver } from "./ledger/state-saver.ts";
import { openRuntime } from "./runner/open-runtime.ts";
import type { RunnerConfig } from "./runner/runner-config.ts";
import type { Runtime } from "./runner/runtime.ts";
import { adminSocket } from "./socket/admin-socket.ts";
import { approvalSocket } from "./socket/approval-socket.ts";
import { brokerSocket } from "./socket/broker-socket.ts";
import { Connections } from "./socket/connections.ts";
import { DescriptorRoom } from "./socket/descriptor-limit.ts";
import { type SocketLimits, serveSocket } from "./socket/serve-socket.ts";

export interface ServeDependencies {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Go on behind a break of the audit log, on record; without one, nothing is started. */
  readonly acceptBreak?: boolean;
}

/** A running brokerd, or the one line that says why there is none. */
export type Serving =
  | { readonly kind: "serving"; readonly broker: Broker }
  | { readonly kind: "refused"; readonly problem: string }
  /** A break was to be accepted and there is none. */
  | { readonly kind: "nothing_to_accept"; readonly problem: string }
  /** Everything but the runtime that the configuration names is all right so far: another one may do. */
  | { readonly kind: "no_runtime"; readonly problem: string };

export interface Broker {
  /** Rejects when a listener has ended by itself; never resolves before {@link Broker.stop}. */
  readonly failed: Promise<void>;
  /** One line each, for the owner. */
  readonly notices: readonly string[];
  readonly describe: string;
  /**
   * Stops accepting, answers what waits, lets boxes end within the grace, writes `stopped`.
   *
   * @param hurry aborts when the boxes are to be given no more time
   */
  stop(hurry: AbortSignal): Promise<void>;
  /** Reads the configuration's file anew: it is applied whole, or refused with one line of the log and nothing changed. Never rejects. */
  reload(): Promise<void>;
  /** Those in force now. */
  readonly limits: Config["limits"];
}

/** A new session's state: a non-empty core memory is read by the model before anything else. */
async function newSession(config: Config): Promise<{ state: Label; ceiling: Config["sessions"]["maxClass"] }> {
  const { taint, untrusted, maxClass, memory, memoryClass } = config.sessions;
  const hasMemory = await stat(memory).then(
    (found) => found.size > 0,
    // What can't be looked at may hold anything, but a missing memory holds nothing.
    (error: unknown) => !(error instanceof Error && "code" in error && error.code === "ENOENT"),
  );
  return { state: { taint: hasMemory ? joinClass(taint, memoryClass) : taint, untrusted }, ceiling: maxClass };
}

/**
 * Starts brokerd. Nothing is touched before the lock is held; what was started is ended again where a later step is refused.
 */
export async function serve(config: Config, dependencies: ServeDependencies): Promise<Serving> {
  const { clock, log, version, acceptBreak = false } = dependencies;
  const events = new Events(log, clock);
  const startedAt = clock.monotonic();
  await using resources = new AsyncDisposableStack();

  const checkpoints = openCheckpoints(config, clock, events);
  const savedState = savedStateOf(config);
  const auditOptions = {
    directory: config.auditDirectory,
    clock,
    acceptBreak,
    checkpoints,
    warn: (line: string) => events.notice(line),
  };
  const { opening: opened, states, saved, notices: savedNotices } = await openStates(auditOptions, savedState);
  if (opened.kind === "refused") {
    await checkpoints[Symbol.asyncDispose]();
    return { kind: opened.why === "nothing_to_accept" ? opened.why : "refused", problem: opened.problem };
  }
  const audit = resources.use(opened.log);
  // Ended before the log is: the last checkpoint covers the last record, and is written while the lock is held.
  resources.use(checkpoints);
  await checkpoints.start();
  const saver = new StateSaver({
    path: savedState,
    states,
    mark: () => audit.mark,
    saved,
    every: SAVE_EVERY,
    warn: (line) => events.notice(line),
  });
  const notices = [...savedNotices, ...opened.notices, ...unfinishedNotice(states)];

  const room = await DescriptorRoom.look();
  notices.push(...room.notice(config));

  const runner: RunnerConfig | null = config.runner;
  if (runner === null)
    notices.push("no [runner] in the config: every call that is allowed will fail; see docs/runbook.md#no-runner");
  const ready = await openRuntime(runner, { home: config.home, warn: (line) => events.notice(line) });
  if (ready.kind === "refused") return { kind: "no_runtime", problem: ready.problem };
  const runtime = resources.use(ready.runtime);
  notices.push(...ready.notices);

  const table = new ApprovalTable<AskEnd>(config.approvals.maxPending, clock);
  const space = new DiskSpace(config.auditDirectory, config.lowSpaceBytes, clock);
  const admission = new Admission({
    room: table,
    asks: new RateLimit(config.approvals.perHour, HOUR_MS, clock),
    sessions: new RateLimit(config.sessions.perMinute, MINUTE_MS, clock),
    canRun: (tool) => runtime.canRun(tool),
    isLowOnSpace: () => space.isLow(),
  });
  const ledger = openLedger(config, { audit, states, runtime, clock, events, admission, saver, reserved: ready.reserved });
  if (!(await ledger.begin(version, config.sha256)))
    return { kind: "refused", problem: "the audit log can't be written; see docs/runbook.md#audit-unavailable" };
  await checkpoints.write();

  const inForce = new ConfigInForce(config);
  const calls = new ToolCalls({
    ledger,
    admission,
    table,
    runtime,
    clock,
    events,
    get ttlMs() {
      return inForce.current.approvals.ttlMs;
    },
  });
  const approvals = new Approvals(ledger, table, events);
  const grants = await ledger.grants();
  if (grants.kind === "invalid") events.grantsInvalid(grants.problems);

  const connections = new Connections();
  const servers: UnixServer[] = [];
  const stop = async (hurry: AbortSignal): Promise<void> => {
    audit.keepLoopFree();
    // Nobody new first; then those that wait, then the boxes, then the answers that are still on their way.
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    connections.endIdle();
    runtime.drain();
    await calls.stop(AbortSignal.any([AbortSignal.timeout(inForce.current.limits.stop_grace_ms), hurry]));
    await connections.end();
    if (await ledger.end()) await saver.save();
  };
  const started = timestampFromMillis(clock.now());
  const { sockets } = config;
  const limits = (): SocketLimits => socketLimits(inForce.current, room);
  const admin = adminSocket({
    path: sockets.admin,
    ledger,
    approvals,
    table,
    events,
    clock,
    version,
    started,
    startedAt,
    isLowOnSpace: () => space.isLow(),
    connections,
  });
  const listenings = [
    () => serveSocket(brokerSocket("broker", sockets.broker, "terminal", calls, events), limits, events, connections),
    ...(sockets.brokerMcp === null ? [] : [brokerSocket("broker-mcp", sockets.brokerMcp, "mcp", calls, events)]).map(
      (served) => () => serveSocket(served, limits, events, connections),
    ),
    () => serveSocket(admin, limits, events, connections),
    ...(sockets.approval === null ? [] : [approvalSocket({ path: sockets.approval, approvals, table, events, connections })]).map(
      (served) => () => serveSocket(served, limits, events, connections),
    ),
  ];
  for (const listen of listenings) {
    const listening = await listen();
    if (listening.kind === "refused") {
      await stop(AbortSignal.abort());
      return { kind: "refused", problem: `${listening.problem}; see docs/runbook.md#socket-refused` };
    }
    servers.push(resources.use(listening.server));
  }

  // A start from a saved state has read the newest files only.
  if (saved > 0) resources.use(new BackgroundCheck({ directory: config.auditDirectory, warn: (line) => events.notice(line) }));
  const owned = resources.move();
  const broker: Broker = {
    failed: Promise.race(servers.map((server) => server.closed)),
    notices,
    describe: `runtime ${runtime.name}, ${grants.kind === "valid" ? `${grants.grants.length} grants` : "invalid grants"}, audit head ${ledger.head}`,
    stop: async (hurry) => {
      await stop(hurry);
      await owned.disposeAsync();
    },
    reload: reloader(inForce, events),
    get limits() {
      return inForce.current.limits;
    },
  };
  return { kind: "serving", broker };
}

function socketLimits(config: Config, room: DescriptorRoom): SocketLimits {
  const { limits } = config;
  return {
    connections: room.connections(config),
    bytesInFlight: limits.bytes_in_flight,
    readDeadlineMs: limits.read_deadline_ms,
    writeDeadlineMs: limits.write_deadline_ms,
  };
}

/** Readings are taken in one after the other, so that the newest is the last. */
function reloader(inForce: ConfigInForce, events: Events): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(async () => {
      const reload = inForce.offer(await readConfig(inForce.current.file));
      switch (reload.kind) {
        case "applied":
          return events.configApplied(reload.keys);
        case "invalid":
          return events.configInvalid(reload.problem);
        case "needs_restart":
          return events.configNeedsRestart(reload.keys);
        default:
          return unreachable(reload);
      }
    });
    return last;
  };
}

function openCheckpoints({ checkpoints }: Config, clock: Clock, events: Events): Checkpoints {
  const { keys, every, command: words } = checkpoints;
  const warn = (line: string): void => events.notice(line);
  const command = words === null ? undefined : new CheckpointCommand({ words, warn });
  return new Checkpoints({ keys, clock, every, command, warn });
}

interface LedgerParts {
  readonly audit: AuditLog;
  readonly states: SessionStates;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly events: Events;
  readonly admission: Admission;
  readonly saver: StateSaver;
  /** The runtime's own places. */
  readonly reserved: readonly AbsPath[];
}

function openLedger(config: Config, { audit, states, runtime, clock, events, admission, saver, reserved }: LedgerParts): Ledger {
  const { grantsDirectory: directory, toolsFile: tools, labelsFile: labels } = config;
  const forbidden = [...ownPlaces(config), ...reserved];
  const grants = new GrantStore({ directory, tools, labels, forbidden, clock });
  const watch = watchGrants(
    () => runtime.grantsChanged(),
    () => clock.now(),
  );
  return new Ledger({
    log: audit,
    states,
    grants,
    admission,
    box: { runtime: runtime.name, image: runtime.image },
    maxBoxes: config.runner?.max_boxes ?? NO_RUNNER_BOXES,
    mayStillWrite: (path) => runtime.mayWrite(path),
    clock,
    newSession: () => newSession(config),
    keepGrant: (hash, text) => audit.keepGrant(hash, text),
    onGrants: (set) => {
      watch(set);
      if (set.kind === "invalid") events.grantsInvalid(set.problems);
      else events.grantsValid();
    },
    onSessionGrantOver: () => runtime.grantsChanged(),
    checkAdded: (set, file, text) => checkAddedGrant(set, file, text, { forbidden }),
    onStopped: (cause) => events.ledgerStopped(cause),
    onAppended: (durable) => saver.onAppended(durable),
  });
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Where no runner is configured, no box ever runs. */
const NO_RUNNER_BOXES = 1;
/** Records between two savings of the state: a start reads as many more at most. */
const SAVE_EVERY = 4096;

/** A cache beside the audit log, in a directory that is brokerd's own. */
function savedStateOf(config: Config): AbsPath {
  return AbsPath.parse(join(config.home, "broker/snapshot.jsonl"));
}

const NAMED_CALLS = 5;

/** Calls that an earlier brokerd let run and whose end nobody knows. */
function unfinishedNotice({ unfinished }: SessionStates): readonly string[] {
  if (unfinished.length === 0) return [];
  const named = unfinished.slice(0, NAMED_CALLS).map(({ decision, tool }) => `${tool} of decision ${decision}`);
  const more = unfinished.length > named.length ? [`${unfinished.length - named.length} more`] : [];
  return [`the last brokerd ended before these calls did: ${[...named, ...more].join(", ")}; see docs/runbook.md#unfinished-calls`];
}
