/** `bxctl session export`: a whole conversation from its logs, as a document to read or as JSON. */
import { join } from "node:path";
import type { Clock } from "@boxmaker/edge/log";
import { type EpochOnDisk, readSession, SessionError, sessionFolder } from "@boxmaker/edge/session-files";
import { quoteText } from "@boxmaker/proto";
import { readSession as readId } from "../audit/audit-command.ts";
import type { BoxCommand } from "../box/box-commands.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { sessionMarkdown } from "./session-markdown.ts";

const FORMATS = ["markdown", "json"];
/** A line that loopd is just writing looks torn: looked at again, it is whole. */
const ATTEMPTS = 3;
const BETWEEN_MS = 100;

/** What a script is given: the logs as they are, with each epoch's baseline. */
function documentOf(session: string, epochs: readonly EpochOnDisk[]): object {
  return {
    version: 1,
    session,
    epochs: epochs.map(({ start, baseline, records, end }) => ({ start, baseline, records, end: end ?? null })),
  };
}

async function read(folder: string, clock: Clock): Promise<readonly EpochOnDisk[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readSession(folder);
    } catch (error) {
      if (!(error instanceof SessionError) || error.fault !== "damaged" || attempt === ATTEMPTS) throw error;
      await clock.sleep(BETWEEN_MS, new AbortController().signal);
    }
  }
}

/** Writes a session to standard output. Works without loopd; a damaged log is refused with its line. */
export async function exportSession(
  { places, out, err }: Omit<BoxCommand, "json">,
  id: string,
  format: string,
  clock: Clock,
): Promise<ExitStatus> {
  const fail = (status: ExitStatus, problem: string): ExitStatus => {
    err.line(`bxctl: ${problem}`);
    return status;
  };
  const session = readId(id);
  if (session.kind === "usage") return fail(2, session.problem);
  if (session.value === undefined) return fail(2, "expected a session id");
  if (!FORMATS.includes(format)) return fail(2, `${quoteText(format)} is no format: expected ${FORMATS.join(" or ")}`);
  try {
    const epochs = await read(sessionFolder(join(places.home, "sessions"), session.value), clock);
    out.raw(format === "json" ? jsonLine(documentOf(session.value, epochs)) : sessionMarkdown(session.value, epochs));
    return 0;
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    const where = error.fault === "missing" ? `: ${session.value} in ${quoteText(join(places.home, "sessions"))}` : "";
    return fail(1, `${error.message}${where}`);
  }
}
