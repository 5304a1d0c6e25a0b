/** `bxctl grants suggest`: grants that the log speaks for, as TOML to review. Nothing is written. */
import { systemClock } from "@boxmaker/edge/log";
import { type Loosened, type Suggestion, suggest } from "@boxmaker/policy/analysis";
import { escapeText, quoteText } from "@boxmaker/proto";
import { readSince } from "../audit/audit-command.ts";
import { logSources } from "../audit/log-sources.ts";
import { RecordedLog, UnreadableLogError } from "../audit/read-records.ts";
import { phraseTool } from "../chat/event-lines.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { end, type GrantsCommand, presentTime } from "./grants-command.ts";
import { loadOwn } from "./load-set.ts";
import { phraseSource } from "./verify-grants.ts";

/** From how many approvals of calls at one place on a grant is suggested. */
const REPEATED = 3;
/** A suggested grant is for a month: an owner who still wants it then says so again. */
const LASTING_MS = 30 * 24 * 3_600_000;
/** Records that are named one by one. */
const NAMED = 10;

const MARKS = { first: "", rest: "#   " };

function loosenedLines(what: string, loosened: readonly Loosened[]): readonly string[] {
  const named = loosened
    .slice(0, NAMED)
    .map(
      ({ seq, tool, target, before, after }) => `record ${seq}, ${phraseTool(tool)} ${quoteText(target)}: ${before} -> ${after}`,
    );
  const more = loosened.length > NAMED ? [`and ${loosened.length - NAMED} more`] : [];
  return [...named, ...more].map((line) => `${what}: ${line}`);
}

function remarks({ because, wouldHave, also, breaks, opens, heldBackBy }: Suggestion): readonly string[] {
  const records = because.slice(0, NAMED).join(", ");
  return [
    `because of ${because.length} ${because.length === 1 ? "record" : "records"}: ${records}${because.length > NAMED ? ", …" : ""}`,
    ...loosenedLines("would have changed", wouldHave),
    ...loosenedLines("ALSO would have changed", also),
    ...(also.length === 0 ? ["would have changed nothing else in the log"] : []),
    ...opens.map(({ from, sink }) => `OPENS a way: ${phraseSource(from)} can use ${sink} unapproved`),
    ...breaks.map(({ id, statement }) => `BREAKS ${id}: ${statement}`),
    ...heldBackBy.map((grant) => `changes little: ${quoteText(grant)} restricts these calls whatever else is granted`),
  ];
}

/** Grants beside those in force that would have let denied calls, and calls that were approved again and again, run or ask. */
export async function suggestGrants(command: GrantsCommand, flags: { readonly since?: string | undefined }): Promise<ExitStatus> {
  const since = readSince(flags.since, systemClock.now());
  if (since.kind === "usage") return end(command, 2, since.problem).status;
  const loaded = await loadOwn(command, undefined);
  if (loaded.kind === "ended") return loaded.status;
  const { set, config } = loaded;
  const { out, json } = command;
  try {
    const log = await RecordedLog.open(config.audit);
    // It is gone through once for each suggestion.
    const records = [...log.records()];
    const suggestions = suggest(records, logSources(log), set, presentTime(), {
      repeated: REPEATED,
      lastingMs: LASTING_MS,
      ...(since.value === undefined ? {} : { since: since.value }),
    });
    if (json) {
      out.raw(jsonLine(suggestions.map(({ loaded: { file, text }, ...rest }) => ({ file, text, ...rest }))));
      return 0;
    }
    if (suggestions.length === 0)
      out.line("# nothing to suggest: no call was denied for want of a grant, none approved again and again");
    for (const suggestion of suggestions) {
      const { file, text } = suggestion.loaded;
      out.line(`# ${quoteText(file)}, to be reviewed: nothing has been written`, MARKS);
      for (const remark of remarks(suggestion)) out.line(`# ${remark}`, MARKS);
      for (const line of text.trimEnd().split("\n")) out.line(escapeText(line));
      out.line("");
    }
    return 0;
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return end(command, 1, error.message).status;
  }
}
