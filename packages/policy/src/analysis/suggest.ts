/** Grants that the log speaks for: the narrowest that would have let calls run, with everything that tells the owner what they would do. */
import {
  AbsPath,
  type AuditRecord,
  type AuditSeq,
  isAbove,
  joinClass,
  millisFromTimestamp,
  type Timestamp,
  type ToolName,
} from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import { type LoadedGrant, TOOL_DEFAULTS } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { Flow } from "./flows.ts";
import { type GrantDraft, loadDraft } from "./grant-text.ts";
import { targetOf } from "./recorded-call.ts";
import { LENIENCE, type LogSources, outcomesWith, type PastOutcome } from "./replay.ts";
import { type Theorem, verify } from "./verify.ts";
import { findWanted, type WantedCall, type WantedOptions, type WantedPlace } from "./wanted-calls.ts";

/** A decision of the log that the grant would make more lenient. */
export interface Loosened {
  readonly seq: AuditSeq;
  readonly tool: string;
  readonly target: string;
  readonly before: PastOutcome["outcome"];
  readonly after: PastOutcome["outcome"];
}

/** One grant to review. Nothing writes it but the owner. */
export interface Suggestion {
  readonly loaded: LoadedGrant;
  readonly why: WantedPlace["why"];
  /** The decisions that it's made from. */
  readonly because: readonly AuditSeq[];
  /** Those of them that it would have let run or ask. */
  readonly wouldHave: readonly Loosened[];
  /** What else in the log it would have let run or ask. */
  readonly also: readonly Loosened[];
  /** Theorems that hold for the set now and wouldn't with it. */
  readonly breaks: readonly Theorem[];
  /** Ways from data to a sink that it would open. */
  readonly opens: readonly Flow[];
  /** Grants that keep the calls from running unasked whatever is granted beside them. */
  readonly heldBackBy: readonly string[];
}

export interface SuggestOptions extends WantedOptions {
  /** How long a suggested grant lasts, in milliseconds from now. */
  readonly lastingMs: number;
}

/** More values than these of one argument are not listed one by one: the place is granted as a whole. */
const MAX_VALUES = 16;
/** More places than these aren't looked into: those with most calls come first. */
const MAX_SUGGESTIONS = 20;

const ARGUMENT: Readonly<Record<ToolName, string>> = { read_file: "path", write_file: "path", shell: "command", http_fetch: "url" };

function argumentOf({ call }: WantedCall): string {
  switch (call.tool) {
    case "read_file":
    case "write_file":
      return call.arguments.path;
    case "shell":
      return call.arguments.command;
    case "http_fetch":
      return call.arguments.url;
    default:
      return call satisfies never;
  }
}

/** A name that no grant of the set has. */
function freeId(tool: ToolName, set: ValidGrantSet, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const id = `suggested-${tool.replaceAll("_", "-")}-${count}`;
    if (!taken.has(id) && !set.grants.some(({ grant }) => grant.id === id)) return id;
  }
}

/** Where the place lies inside a folder that some grant lets a box write, that folder: a grant inside it would be refused. */
function mountablePlace(place: string, set: ValidGrantSet): string {
  const path = AbsPath.safeParse(place).data;
  return path === undefined ? place : (GrantIndex.of(set.grants).writableAbove(path) ?? place);
}

/** What was denied is to be asked about where it changes or sends something; what was approved again and again is to run. */
function modeOf(why: WantedPlace["why"], tool: ToolName): Effect {
  return why === "approved" || tool === "read_file" ? "auto" : "ask";
}

function draftOf({ why, place, calls }: WantedPlace, tool: ToolName, id: string, set: ValidGrantSet, expires: number): GrantDraft {
  const defaults = TOOL_DEFAULTS[tool];
  const maxTaint = calls.map(({ before }) => before.taint).reduce(joinClass, "public");
  const label = calls.flatMap((each) => (each.label === null ? [] : [each.label.taint])).reduce(joinClass, defaults.label);
  const values = [...new Set(calls.map(argumentOf))].toSorted();
  const where = tool === "http_fetch" ? { hosts: [place] } : { paths: [mountablePlace(place, set)] };
  const count = calls.length === 1 ? "1 call" : `${calls.length} calls`;
  return {
    id,
    tool,
    mode: modeOf(why, tool),
    maxTaint,
    label: isAbove(label, defaults.label) ? label : null,
    expires,
    ...where,
    args: {
      ...(values.length > MAX_VALUES ? {} : { [ARGUMENT[tool]]: values }),
      ...(tool === "shell" ? { cwd: [place] } : {}),
    },
    remarks: [
      `${count} of ${tool} at ${place}, ${why === "denied" ? "denied because no grant spoke about it" : "approved each time"}`,
    ],
  };
}

/** Decisions that come out more lenient in `after` than in `before`. */
function loosenedBetween(
  events: ReadonlyMap<AuditSeq, { readonly tool: string; readonly target: string }>,
  before: ReadonlyMap<AuditSeq, PastOutcome>,
  after: ReadonlyMap<AuditSeq, PastOutcome>,
): readonly Loosened[] {
  return [...after].flatMap(([seq, now]) => {
    const was = before.get(seq);
    const event = events.get(seq);
    if (was === undefined || event === undefined || LENIENCE[now.outcome] <= LENIENCE[was.outcome]) return [];
    return [{ seq, ...event, before: was.outcome, after: now.outcome }];
  });
}

function restrictionsOf(calls: readonly WantedCall[], set: ValidGrantSet): readonly string[] {
  const restricting = new Set(set.grants.filter(({ grant }) => grant.mode !== "auto").map(({ grant }) => grant.id));
  const matched = calls.flatMap(({ event }) => event.matched.map(({ grant }) => grant));
  return [...new Set(matched)].filter((id) => restricting.has(id)).toSorted();
}

/**
 * Suggests grants beside those of `set`, each by itself. The log is decided again once for each: pass a list that can be read often.
 *
 * @param records all of the log from its start
 */
export function suggest(
  records: readonly AuditRecord[],
  sources: LogSources,
  set: ValidGrantSet,
  now: Timestamp,
  options: SuggestOptions,
): readonly Suggestion[] {
  const events = new Map(
    records.flatMap(({ seq, event }) =>
      event.kind === "decision" ? [[seq, { tool: event.tool, target: targetOf(event) }] as const] : [],
    ),
  );
  const wanted = findWanted(records, sources.textOf, options)
    .toSorted((a, b) => b.calls.length - a.calls.length)
    .slice(0, MAX_SUGGESTIONS);
  if (wanted.length === 0) return [];
  const base = outcomesWith(records, sources, set);
  const today = verify(set, now);
  const taken = new Set<string>();
  return wanted.flatMap((place): readonly Suggestion[] => {
    const tool = place.calls[0]?.call.tool;
    if (tool === undefined) return [];
    const id = freeId(tool, set, taken);
    taken.add(id);
    const loaded = loadDraft(draftOf(place, tool, id, set, millisFromTimestamp(now) + options.lastingMs));
    const beside = { ...set, grants: [...set.grants, loaded] };
    const loosened = loosenedBetween(events, base, outcomesWith(records, sources, beside));
    const because = place.calls.map(({ seq }) => seq);
    const then = verify(beside, now);
    return [
      {
        loaded,
        why: place.why,
        because,
        wouldHave: loosened.filter(({ seq }) => because.includes(seq)),
        also: loosened.filter(({ seq }) => !because.includes(seq)),
        breaks: then.theorems.filter(({ failure }, index) => failure !== null && today.theorems[index]?.failure === null),
        opens: then.flows.filter(({ trace }, index) => trace !== null && today.flows[index]?.trace === null),
        heldBackBy: restrictionsOf(place.calls, set),
      },
    ];
  });
}
