/** From a session's logs alone to the bodies of the requests that were answered, as the model server got them. */
import { readSession } from "@boxmaker/edge/session-files";
import { carriedRecords } from "@boxmaker/proto";
import type { Config } from "../../src/config/config.ts";
import type { ServerInfo } from "../../src/model/model-server.ts";
import { buildBody } from "../../src/model/request-body.ts";
import { History } from "../../src/turn/history.ts";
import { summedUp } from "../../src/turn/make-summary.ts";
import { summaryRequest } from "../../src/turn/summary-request.ts";

/** One body per reply that the logs have, in order. What an epoch was begun with was answered in the one before it. */
export async function rebuildRequests(folder: string, config: Config, server: ServerInfo): Promise<readonly string[]> {
  const settings = { model: config.model, sampling: config.sampling, thinkingCap: config.limits.thinking_cap };
  const bodies: string[] = [];
  let carried = 0;
  for (const { start, baseline, records, end } of await readSession(folder)) {
    const history = new History(baseline, []);
    for (const [index, record] of records.entries()) {
      if (record.kind === "assistant" && index >= carried) {
        const request = { messages: [...history.messages], tools: baseline.tools, slot: start.slot };
        bodies.push(buildBody(settings, server, request));
      }
      history.add(record);
    }
    if (end === undefined) continue;
    carried = carriedRecords(records, end.carry).length;
    const request = summaryRequest(baseline, summedUp(records, end.carry), end.shortened);
    bodies.push(buildBody(settings, server, { ...request, slot: start.slot }));
  }
  return bodies;
}
