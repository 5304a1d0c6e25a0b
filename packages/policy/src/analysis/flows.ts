/** Where data can go: from what a session has seen to a tool that changes or sends something without the owner being asked. */
import { DATA_CLASSES, type DataClass, type Label, type Timestamp, ToolName } from "@boxmaker/proto";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { CallClass } from "./call-classes.ts";
import { judgeReached, type Reached, type Step, takeStep } from "./walk.ts";

/** Tools that change or send something: all that don't only read. */
export const SINKS: readonly ToolName[] = ToolName.options.filter((tool) => tool !== "read_file");

/** What a session has seen. */
export type Source = Exclude<DataClass, "public"> | "untrusted";

const SOURCES: readonly Source[] = ["secret", "private", "untrusted"];

/** Whether a session that has seen the source can come to use the sink unapproved, and a shortest way; null: there is none. */
export interface Flow {
  readonly from: Source;
  readonly sink: ToolName;
  readonly trace: readonly Step[] | null;
}

function hasSeen(label: Label, source: Source): boolean {
  if (source === "untrusted") return label.untrusted;
  return DATA_CLASSES.indexOf(label.taint) >= DATA_CLASSES.indexOf(source);
}

/** Fewest calls first; of those with as many, the one with fewest approvals. */
function compareTraces(a: readonly Step[], b: readonly Step[]): number {
  const approvals = (trace: readonly Step[]): number => trace.filter(({ runs }) => runs === "approved").length;
  return a.length - b.length || approvals(a) - approvals(b);
}

/** An unapproved call to a sink, and the state in which it is made. */
export interface SinkUse {
  readonly label: Label;
  readonly sink: ToolName;
  readonly trace: readonly Step[];
}

/** Every unapproved call to a sink that a session of one kind can come to, with the way there. */
export function sinkUses(
  set: ValidGrantSet,
  classes: readonly CallClass[],
  reached: readonly Reached[],
  now: Timestamp,
): readonly SinkUse[] {
  const toSinks = classes.filter(({ call }) => SINKS.includes(call.tool));
  return reached.flatMap((from) =>
    toSinks.flatMap((each) => {
      const judgement = judgeReached(set, each, from, now);
      const after = judgement.kind === "runs" && judgement.mode === "auto" ? takeStep(each, from, judgement) : undefined;
      return after === undefined ? [] : [{ label: from.label, sink: each.call.tool, trace: after.trace }];
    }),
  );
}

/** For each source and each sink, whether there is a way from one to the other. */
export function findFlows(uses: readonly SinkUse[]): readonly Flow[] {
  return SOURCES.flatMap((from) =>
    SINKS.map((sink) => {
      const ways = uses.filter((each) => each.sink === sink && hasSeen(each.label, from)).map(({ trace }) => trace);
      return { from, sink, trace: ways.toSorted(compareTraces)[0] ?? null };
    }),
  );
}
