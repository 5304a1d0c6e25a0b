/** A whole conversation as Markdown. Headings are ours alone; whatever somebody wrote is in a block that it can't leave. */
import type { EpochOnDisk } from "@boxmaker/edge/session-files";
import { carriedRecords, type SessionId, type SessionRecord, unreachable } from "@boxmaker/proto";
import { fencedText } from "./markdown-block.ts";

type Result = Extract<SessionRecord, { readonly kind: "tool_result" }>;
type Reply = Extract<SessionRecord, { readonly kind: "assistant" }>;

function section(heading: string, ...blocks: readonly string[]): string {
  return [heading, ...blocks].join("\n\n");
}

function resultHeading({ call, class: dataClass, untrusted, truncated }: Result): string {
  const facts = [
    dataClass === null ? "nothing released" : dataClass,
    ...(untrusted === true ? ["text of strangers"] : []),
    ...(truncated ? ["cut"] : []),
  ];
  return `### Result${call === null ? "" : ` of call ${call}`}: ${facts.join(", ")}`;
}

function replySections(reply: Reply): readonly string[] {
  return [
    ...(reply.reasoning === "" ? [] : [section("### Thought", fencedText(reply.reasoning))]),
    ...(reply.content === "" && reply.tool_calls.length > 0 ? [] : [section("### Model", fencedText(reply.content))]),
    ...reply.tool_calls.map((call) => section("### Tool call", fencedText(`${call.name}\n${call.arguments}`))),
  ];
}

function sectionsOf(record: SessionRecord): readonly string[] {
  switch (record.kind) {
    case "user":
      return [section(`### You, ${record.time}`, fencedText(record.text))];
    case "assistant":
      return replySections(record);
    case "tool_result":
      return [section(resultHeading(record), fencedText(`${record.tool}\n${record.content}`))];
    case "cancelled":
      return [section("### The turn ended without an answer", fencedText(record.reason))];
    case "cache_loss":
      return [`The model server read the conversation again: ${record.cached} of ${record.expected} tokens were still cached.`];
    case "epoch_end":
      return [section("### Summary, with which the next epoch begins", fencedText(record.summary))];
    case "session_start":
    case "call_sent":
    case "usage":
      return [];
    default:
      return unreachable(record);
  }
}

function epochSections({ start, baseline, records, end }: EpochOnDisk, carried: number): readonly string[] {
  return [
    `## Epoch ${start.epoch}, begun ${start.time}`,
    section("### System prompt", fencedText(baseline.system)),
    ...(carried === 0 ? [] : ["The last turn goes on here."]),
    ...records.slice(carried).flatMap(sectionsOf),
    ...(end === undefined ? [] : sectionsOf(end)),
  ];
}

/** One document, which ends with a newline. */
export function sessionMarkdown(session: SessionId, epochs: readonly EpochOnDisk[]): string {
  let carried = 0;
  const sections = epochs.flatMap((epoch) => {
    const mine = epochSections(epoch, carried);
    carried = epoch.end === undefined ? 0 : carriedRecords(epoch.records, epoch.end.carry).length;
    return mine;
  });
  const first = epochs[0]?.start;
  const facts = first === undefined ? [] : [`Comes from ${first.origin}${first.slot === null ? "" : `, slot ${first.slot}`}.`];
  return `${[`# Session ${session}`, ...facts, ...sections].join("\n\n")}\n`;
}
