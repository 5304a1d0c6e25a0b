/** Streams what happens to the asks that wait, to one watcher. */
import type { ErrorMessage } from "@boxmaker/proto";
import type { ApprovalListener, ApprovalTable } from "../approvals/approval-table.ts";
import type { AskEnd } from "../calls/tool-calls.ts";
import type { Send } from "./serve-socket.ts";

/** Events that a watcher hasn't taken yet, beyond what waited when it began; one that lags further behind is cut off, so that it can't hold memory. */
const MAX_WATCH_BACKLOG = 1000;

const TOO_SLOW: ErrorMessage = {
  kind: "error",
  body: { code: "limit", detail: "the watcher doesn't take its events fast enough" },
};
const STOPPING: ErrorMessage = { kind: "error", body: { code: "cancelled", detail: "brokerd is stopping" } };

export interface Watching<A> {
  readonly table: Pick<ApprovalTable<AskEnd>, "list" | "subscribe">;
  /** Aborts when brokerd ends. */
  readonly ending: AbortSignal;
  /** What the watcher is told of a change; undefined where it isn't told. Called for each change, in order. */
  readonly tell: (...change: Parameters<ApprovalListener>) => A | undefined;
}

/** Goes on until the watcher leaves or can't follow, or brokerd ends, starting with what waits already. */
export async function watchAsks<A>(
  { table, ending, tell }: Watching<A>,
  send: Send<A | ErrorMessage>,
  gone: AbortSignal,
): Promise<void> {
  const backlog: A[] = [];
  const push: ApprovalListener = (changed, change) => {
    const event = tell(changed, change);
    if (event !== undefined) backlog.push(event);
  };
  for (const entry of table.list()) push(entry, "pending");
  // However much waits already, it is told: only what comes behind it can come too fast.
  const most = backlog.length + MAX_WATCH_BACKLOG;
  let wake: () => void = () => undefined;
  const unsubscribe = table.subscribe((changed, change) => {
    if (backlog.length <= most) push(changed, change);
    wake();
  });
  const stop = (): void => wake();
  gone.addEventListener("abort", stop, { once: true });
  ending.addEventListener("abort", stop, { once: true });
  try {
    while (!gone.aborted) {
      if (backlog.length > most) {
        await send(TOO_SLOW, true);
        return;
      }
      const next = backlog.shift();
      if (next !== undefined) {
        if ((await send(next, false)) === "gone") return;
        continue;
      }
      if (ending.aborted) {
        await send(STOPPING, true);
        return;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (gone.aborted) resolve();
      });
    }
  } finally {
    unsubscribe();
    ending.removeEventListener("abort", stop);
  }
}
