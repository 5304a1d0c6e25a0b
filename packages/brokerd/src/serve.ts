/** brokerd from its configuration to its last record: the order of start and stop. */
import { stat } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Clock, Log } from "@boxmaker/edge/log";
import type { UnixServer } from "@boxmaker/edge/socket";
import { AbsPath, ApprovalId, type AuditEvent, joinClass, type Label, timestampFromMillis } from "@boxmaker/proto";
import { ApprovalTable } from "./approvals/approval-table.ts";
import { Approvals } from "./approvals/approvals.ts";
import { type AuditLog, openAuditLog } from "./audit/audit-log.ts";
import { type AskEnd, ToolCalls } from "./calls/tool-calls.ts";
import type { Config } from "./config/config.ts";
import { Events } from "./events.ts";
import { GrantStore } from "./grants/grant-store.ts";
import { keepText } from "./ledger/keep-text.ts";
import { Ledger } from "./ledger/ledger.ts";
import { SessionStates } from "./ledger/session-states.ts";
import { openRuntime } from "./runner/open-runtime.ts";
import type { RunnerConfig } from "./runner/runner-config.ts";
import type { Runtime } from "./runner/runtime.ts";
import { adminSocket } from "./socket/admin-socket.ts";
import { brokerSocket } from "./socket/broker-socket.ts";
import { serveSocket } from "./socket/serve-socket.ts";

export interface ServeDependencies {
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A running brokerd, or the one line that says why there is none. */
export type Serving =
  | { readonly kind: "serving"; readonly broker: Broker }
  | { readonly kind: "refused"; readonly problem: string };

export interface Broker {
  /** Rejects when a listener has ended by itself; never resolves before {@link Broker.stop}. */
  readonly failed: Promise<void>;
  /** One line each, for the owner. */
  readonly notices: readonly string[];
  readonly describe: string;
  /** Stops accepting, answers what waits, lets boxes end within the grace, writes `stopped`. */
  stop(): Promise<void>;
}

/** The box's own directories: no grant may name, hold or lie in one. */
function ownDirectories(config: Config): readonly AbsPath[] {
  const inHome = ["run", "audit", "broker", "sessions", "memory", "gateway", "etc"].map((name) =>
    AbsPath.parse(`${config.home}/${name}`),
  );
  return [...inHome, config.auditDirectory, config.grantsDirectory];
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

/** Starts brokerd. Nothing is touched before the lock is held; what was started is undone where a later step is refused. */
export async function serve(config: Config, dependencies: ServeDependencies): Promise<Serving> {
  const { clock, log, version } = dependencies;
  const events = new Events(log);
  const states = new SessionStates();
  await using resources = new AsyncDisposableStack();

  const opened = await openAuditLog({
    directory: config.auditDirectory,
    clock,
    onRecord: (record) => states.apply(record),
    warn: (line) => events.notice(line),
  });
  if (opened.kind === "refused") return opened;
  const audit = resources.use(opened.log);
  const notices = [...opened.notices];

  const runner: RunnerConfig | null = config.runner;
  if (runner === null)
    notices.push("no [runner] in the config: every call that is allowed will fail; see docs/runbook.md#no-runner");
  const ready = await openRuntime(runner, { warn: (line) => events.notice(line) });
  if (ready.kind === "refused") return ready;
  const runtime = resources.use(ready.runtime);
  notices.push(...ready.notices);

  const ledger = openLedger(config, { audit, states, runtime, clock, events });
  const started: AuditEvent = { kind: "started", version, config_sha256: config.sha256, head: audit.head };
  if (!(await ledger.note(started)))
    return { kind: "refused", problem: "the audit log can't be written; see docs/runbook.md#audit-unavailable" };
  await endEarlierAsks(ledger);

  const table = new ApprovalTable<AskEnd>(config.approvals.maxPending);
  const calls = new ToolCalls({ ledger, table, runtime, clock, events, ttlMs: config.approvals.ttlMs });
  const approvals = new Approvals(ledger, table, events, clock);
  const startedAt = timestampFromMillis(clock.now());

  const open = new Set<Socket>();
  const limits = {
    connections: config.limits.connections,
    readDeadlineMs: config.limits.read_deadline_ms,
    writeDeadlineMs: config.limits.write_deadline_ms,
  };
  const { sockets } = config;
  const listenings = [
    () => serveSocket(brokerSocket("broker", sockets.broker, "terminal", calls), limits, events, open),
    ...(sockets.brokerMcp === null ? [] : [mcp(sockets.brokerMcp)]),
    () =>
      serveSocket(
        adminSocket({ path: sockets.admin, ledger, approvals, table, version, started: startedAt }),
        limits,
        events,
        open,
      ),
  ];
  function mcp(path: AbsPath) {
    return () => serveSocket(brokerSocket("broker-mcp", path, "mcp", calls), limits, events, open);
  }
  const servers: UnixServer[] = [];
  for (const listen of listenings) {
    const listening = await listen();
    if (listening.kind === "refused")
      return { kind: "refused", problem: `${listening.problem}; see docs/runbook.md#socket-refused` };
    servers.push(resources.use(listening.server));
  }

  const grants = await ledger.grants();
  if (grants.kind === "invalid") events.grantsInvalid(grants.problems);
  const owned = resources.move();
  const broker: Broker = {
    failed: Promise.race(servers.map((server) => server.closed)),
    notices,
    describe: `runtime ${runtime.name}, ${grants.kind === "valid" ? `${grants.grants.length} grants` : "invalid grants"}, audit head ${ledger.head}`,
    stop: async () => {
      // Stop accepting first; the listeners' own disposal at the end is then a no-op.
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      await calls.stop(AbortSignal.timeout(config.limits.stop_grace_ms));
      for (const socket of open) socket.destroySoon();
      await ledger.note({ kind: "stopped" });
      await owned.disposeAsync();
    },
  };
  return { kind: "serving", broker };
}

interface LedgerParts {
  readonly audit: AuditLog;
  readonly states: SessionStates;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly events: Events;
}

function openLedger(config: Config, { audit, states, runtime, clock, events }: LedgerParts): Ledger {
  const grants = new GrantStore({ directory: config.grantsDirectory, forbidden: ownDirectories(config), clock });
  const grantTexts = AbsPath.parse(`${config.auditDirectory}/grants`);
  return new Ledger({
    log: audit,
    states,
    grants,
    box: { runtime: runtime.name, image: runtime.image },
    clock,
    newSession: () => newSession(config),
    keepGrant: (hash, text) => keepText(grantTexts, hash, text),
    onGrants: (set) => (set.kind === "invalid" ? events.grantsInvalid(set.problems) : events.grantsValid()),
    onStopped: (cause) => events.ledgerStopped(cause),
  });
}

/** Asks that waited when an earlier brokerd ended can't be answered any more; the log says so. */
async function endEarlierAsks(ledger: Ledger): Promise<void> {
  for (const seq of ledger.states.openAsks)
    await ledger.close(ApprovalId.parse(seq), "gone", { by: "brokerd", user: null }, "restart");
}
