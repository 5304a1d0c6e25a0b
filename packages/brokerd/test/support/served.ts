/** A rig behind its real sockets. */
import { mkdirSync } from "node:fs";
import { type AbsPath, type BrokerRequest, CallId, SessionId, timestampFromMillis } from "@boxmaker/proto";
import { adminSocket } from "../../src/socket/admin-socket.ts";
import { approvalSocket } from "../../src/socket/approval-socket.ts";
import { brokerSocket } from "../../src/socket/broker-socket.ts";
import { Connections } from "../../src/socket/connections.ts";
import { type SocketLimits, serveSocket } from "../../src/socket/serve-socket.ts";
import { BoxFiles, Rig, type RigOptions } from "./rig.ts";

export const LIMITS: SocketLimits = {
  connections: 64,
  bytesInFlight: 64 * 1024 * 1024,
  readDeadlineMs: 60_000,
  writeDeadlineMs: 60_000,
};

/** The sockets of one rig, served. */
export interface Served extends AsyncDisposable {
  readonly rig: Rig;
  readonly files: BoxFiles;
  readonly broker: AbsPath;
  readonly mcp: AbsPath;
  readonly admin: AbsPath;
  readonly approval: AbsPath;
  readonly connections: Connections;
  readonly stop: () => Promise<void>;
}

export async function serve(limits: Partial<SocketLimits> = {}, options: RigOptions = {}): Promise<Served> {
  const files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  mkdirSync(files.at("phone"), { mode: 0o700 });
  files.grant("phone", "write_file", "ask", 'approvers = ["bxctl", "gateway"]', [files.at("phone")]);
  const rig = await Rig.open(files, options);
  const { ledger, approvals, table, events } = rig;
  const connections = new Connections();
  const [broker, mcp, admin, approval] = [files.at("b/b.sock"), files.at("m/m.sock"), files.at("a/a.sock"), files.at("g/g.sock")];
  const started = timestampFromMillis(rig.clock.now());
  const all = (): SocketLimits => ({ ...LIMITS, ...limits });
  const listenings = [
    await serveSocket(brokerSocket("broker", broker, "terminal", rig.calls, events), all, events, connections),
    await serveSocket(brokerSocket("broker-mcp", mcp, "mcp", rig.calls, events), all, events, connections),
    await serveSocket(
      adminSocket({
        path: admin,
        ledger,
        approvals,
        table,
        events,
        clock: rig.clock,
        version: "0.1.0",
        started,
        startedAt: rig.clock.monotonic(),
        isLowOnSpace: async () => rig.isLowOnSpace,
        connections,
      }),
      all,
      events,
      connections,
    ),
    await serveSocket(approvalSocket({ path: approval, approvals, table, events, connections }), all, events, connections),
  ];
  const servers = listenings.map((listening) => {
    if (listening.kind === "refused") throw new Error(listening.problem);
    return listening.server;
  });
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    connections.endIdle();
    await rig.calls.stop(AbortSignal.abort());
    await connections.end();
  };
  return {
    rig,
    files,
    broker,
    mcp,
    admin,
    approval,
    connections,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await Promise.all(servers.map((server) => server.closed));
      await rig[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}

let calls = 0;

/** A call of a number that no other one has. */
export function call(served: Served, tool: "read_file" | "write_file", session = "chat-1", folder = "notes"): BrokerRequest {
  const path = served.files.at(`${folder}/todo.md`);
  const args = tool === "read_file" ? { path } : { path, content: "x" };
  const number = CallId.parse(++calls);
  return {
    kind: "tool_request",
    body: { session: SessionId.parse(session), call: number, turn: number, tool, arguments: JSON.stringify(args) },
  };
}
