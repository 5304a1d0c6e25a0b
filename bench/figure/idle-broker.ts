/** A brokerd that nothing waits for, in a thread of its own: what a cold client is measured against must not wait for the bench. */
import { parentPort, workerData } from "node:worker_threads";
import { listenUnix, serveConnection } from "@boxmaker/edge/socket";
import { AdminAnswer, AdminRequest } from "@boxmaker/proto";

const DEADLINE_MS = 10_000;

const listening = await listenUnix({
  path: String(workerData),
  maxConnections: 16,
  onConnection: (socket) => {
    serveConnection(socket, {
      requests: AdminRequest,
      answers: AdminAnswer,
      readDeadlineMs: DEADLINE_MS,
      writeDeadlineMs: DEADLINE_MS,
      handle: async (_envelope, reply) => {
        await reply({ kind: "approval_list", body: { approvals: [] } }, true);
      },
      onFault: () => undefined,
      onBug: () => undefined,
    }).catch(() => socket.destroy());
  },
});
if (listening.kind === "refused") throw new Error(listening.problem);
parentPort?.postMessage("ready");
