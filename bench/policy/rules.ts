/** The same rules as grants and as Cedar policies, and the same calls for both. */

import { type BoxKind, type CallRequest, completeGrant, type GrantSet, type PolicyState } from "@boxmaker/policy";
import { parseGrantFile } from "@boxmaker/policy/grants";
import { CallId, type DataClass, SessionId, sha256, Timestamp } from "@boxmaker/proto";

export const NOW = Timestamp.parse("2026-11-01T00:00:00.000Z");
export const BOX: BoxKind = { runtime: "podman", image: null };
const SESSION = SessionId.parse("bench");
const CLASSES: readonly DataClass[] = ["public", "private", "secret"];

/** One rule of either kind: a folder for the file tools, a host for http_fetch. */
interface Rule {
  readonly id: string;
  readonly tool: "read_file" | "write_file" | "http_fetch";
  readonly mode: "auto" | "ask" | "deny";
  readonly place: string;
  readonly maxTaint: DataClass;
  readonly ifUntrusted: "auto" | "ask";
}

type CedarEntity = { readonly type: string; readonly id: string };

export interface BenchCall {
  readonly request: CallRequest;
  readonly state: PolicyState;
  readonly cedar: {
    readonly principal: CedarEntity;
    readonly action: CedarEntity;
    readonly resource: CedarEntity;
    readonly context: { readonly place: string; readonly taint: number; readonly untrusted: boolean };
  };
}

const TOOLS = ["read_file", "write_file", "http_fetch"] as const;

/** Of ten rules one asks and one denies, each inside the place of a rule that permits, as an owner writes exceptions. */
export function rulesOf(count: number): readonly Rule[] {
  return Array.from({ length: count }, (_, index): Rule => {
    const tool = TOOLS[index % 3] ?? "read_file";
    const last = index % 10;
    const mode = last === 8 ? "ask" : last === 9 ? "deny" : "auto";
    const of = mode === "auto" ? index : index - 6;
    const folder = `/srv/projects/p${of}`;
    const file = mode === "auto" ? folder : `${folder}/exception`;
    return {
      id: `rule-${index}`,
      tool,
      mode,
      place: tool === "http_fetch" ? `h${of}.example.com` : file,
      maxTaint: tool === "read_file" ? "secret" : "private",
      ifUntrusted: tool === "read_file" ? "auto" : "ask",
    };
  });
}

/** @throws {Error} when a rule isn't a valid grant */
export function grantsOf(rules: readonly Rule[]): GrantSet {
  const grants = rules.map(({ id, tool, mode, place, maxTaint, ifUntrusted }) => {
    const limits = mode === "deny" ? "" : `max_taint = "${maxTaint}"\nif_untrusted = "${ifUntrusted}"\n`;
    const constraint = tool === "http_fetch" ? `hosts = ["${place}"]` : `paths = ["${place}"]`;
    const text = `id = "${id}"\ntool = "${tool}"\nmode = "${mode}"\n${limits}[constraints]\n${constraint}\n`;
    const { whole, problems } = parseGrantFile(text);
    if (whole === undefined) throw new Error(`${id}: ${problems.map(({ problem }) => problem).join("; ")}`);
    return { grant: completeGrant(whole), file: `${id}.toml`, sha256: sha256(text), text };
  });
  return { kind: "valid", grants, files: grants };
}

function cedarPolicy({ tool, mode, place, maxTaint, ifUntrusted }: Rule): string {
  const scope = `principal, action == Action::"${tool}", resource`;
  const fits = tool === "http_fetch" ? `context.place == "${place}"` : `context.place like "${place}/*"`;
  // Cedar knows no third answer: what asks is what doesn't run by itself.
  if (mode !== "auto") return `forbid (${scope}) when { ${fits} };`;
  const trusted = ifUntrusted === "auto" ? "" : " && !context.untrusted";
  return `permit (${scope}) when { ${fits} && context.taint <= ${CLASSES.indexOf(maxTaint)}${trusted} };`;
}

/** Policies that allow exactly what the grants let run with no approval. */
export function cedarPolicies(rules: readonly Rule[]): string {
  return rules.map(cedarPolicy).join("\n");
}

/** Calls spread over the rules, each in one of the six states. One in eight is about a place that no rule names. */
export function callsFor(rules: readonly Rule[], count: number): readonly BenchCall[] {
  return Array.from({ length: count }, (_, index): BenchCall => {
    const rule = rules[(index * 7919) % rules.length];
    if (rule === undefined) throw new RangeError("expected at least one rule");
    const taint = index % 3;
    const untrusted = index % 2 === 1;
    const stray = index % 8 === 7;
    const host = stray ? "stray.example.com" : rule.place;
    const path = `${stray ? "/srv/stray" : rule.place}/notes/today.md`;
    const values = rule.tool === "http_fetch" ? { url: `https://${host}/page` } : { path };
    const args = rule.tool === "write_file" ? { ...values, content: "a line of text" } : values;
    return {
      request: { session: SESSION, call: CallId.parse(index + 1), tool: rule.tool, argumentsText: JSON.stringify(args) },
      state: {
        label: { taint: CLASSES[taint] ?? "public", untrusted },
        origin: "terminal",
        ceiling: "secret",
        usesSpent: () => 0,
        pathLabels: [],
      },
      cedar: {
        principal: { type: "Session", id: SESSION },
        action: { type: "Action", id: rule.tool },
        resource: { type: "Box", id: "box" },
        context: { place: rule.tool === "http_fetch" ? host : path, taint, untrusted },
      },
    };
  });
}
