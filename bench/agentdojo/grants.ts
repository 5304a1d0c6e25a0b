/** What the owner of an AgentDojo world grants, as grant files, for each way of granting that is compared. */

import { completeGrant, type LoadedGrant } from "@boxmaker/policy";
import { parseGrantFile } from "@boxmaker/policy/grants";
import { sha256 } from "@boxmaker/proto";
import { isSink, type Suite, type Task, type Tool, toolOf } from "./corpus.ts";
import { type Destination, destinationsOf, hostOfTool, prefixOf, prefixOfNobody, urlsOf } from "./spelling.ts";

/** A way of granting: standing grants, and those that the owner adds for one request. */
export interface Variant {
  readonly name: string;
  readonly standing: (suite: Suite) => readonly LoadedGrant[];
  readonly forTask: (suite: Suite, task: Task) => readonly LoadedGrant[];
}

interface GrantText {
  readonly id: string;
  readonly mode: "auto" | "ask";
  readonly ifUntrusted: "auto" | "ask";
  /** A predicate on the URL as TOML, or none. */
  readonly url?: string;
}

/** Through the reader of grant files, so that a grant that an owner couldn't write can't be counted. @throws {Error} then */
function loadText(id: string, text: string): LoadedGrant {
  const { whole, problems } = parseGrantFile(text);
  if (whole === undefined) throw new Error(`${id}: ${problems.map(({ problem }) => problem).join("; ")}`);
  return { grant: completeGrant(whole), file: `${id}.toml`, sha256: sha256(text), text };
}

function load(suite: Suite, tool: Tool, { id, mode, ifUntrusted, url }: GrantText): LoadedGrant {
  const { label, untrusted } = tool.proposed;
  // AgentDojo taints nearly every task at its first call, so what is measured is integrity alone: no ceiling on taint.
  return loadText(
    id,
    `id = "${id}"
tool = "http_fetch"
mode = "${mode}"
max_taint = "secret"
if_untrusted = "${ifUntrusted}"
label = "${label}"
untrusted = ${String(untrusted)}
[constraints]
hosts = ["${hostOfTool(suite, tool)}"]
${url === undefined ? "" : `args = { url = ${url} }\n`}`,
  );
}

function idOf(tool: Tool, suffix: string): string {
  return `${tool.name.replaceAll("_", "-")}${suffix}`;
}

/** One grant per tool. */
function perTool(grantOf: (tool: Tool) => Omit<GrantText, "id">): Variant["standing"] {
  return (suite) => [...suite.tools.values()].map((tool) => load(suite, tool, { id: idOf(tool, ""), ...grantOf(tool) }));
}

const allowAll = perTool(() => ({ mode: "auto", ifUntrusted: "auto" }));
const askForSinks = perTool((tool) => ({ mode: isSink(tool) ? "ask" : "auto", ifUntrusted: "auto" }));
const askForWrites = perTool(({ proposed }) => ({ mode: proposed.effect === "write" ? "ask" : "auto", ifUntrusted: "auto" }));
const integrity = perTool((tool) => ({ mode: "auto", ifUntrusted: isSink(tool) ? "ask" : "auto" }));

/** Tools that only make something new among the owner's own files. */
const OWN_FILES: ReadonlySet<string> = new Set(["create_file", "append_to_file"]);
const integrityButOwnFiles = perTool((tool) => ({
  mode: "auto",
  ifUntrusted: isSink(tool) && !OWN_FILES.has(tool.name) ? "ask" : "auto",
}));

/** Untrusted or not, these prefixes of one tool's URLs run. */
function allowPrefixes(suite: Suite, tool: Tool, prefixes: readonly string[], suffix: string): readonly LoadedGrant[] {
  return [...new Set(prefixes)].map((prefix, index) =>
    load(suite, tool, {
      id: idOf(tool, `-${suffix}-${index + 1}`),
      mode: "auto",
      ifUntrusted: "auto",
      url: `{ prefix = ${JSON.stringify(prefix)} }`,
    }),
  );
}

/** The tools of Slack by which a message reaches somebody inside. */
const SLACK_INSIDE: ReadonlySet<string> = new Set(["send_direct_message", "send_channel_message", "add_user_to_channel"]);

function knownPrefixes(suite: Suite, tool: Tool): readonly string[] {
  const args = tool.proposed.destination_args;
  const toAny = (values: readonly string[]): readonly string[] =>
    args.flatMap((argument) => values.map((value) => prefixOf(suite, tool, { argument, value })));
  switch (suite.name) {
    case "workspace":
      return [prefixOfNobody(suite, tool), ...toAny(suite.knownDestinations.map((pattern) => pattern.replace(/^\*/u, "")))];
    case "travel":
      return [prefixOfNobody(suite, tool)];
    case "slack":
      return SLACK_INSIDE.has(tool.name) ? toAny(suite.knownDestinations) : [];
    default:
      return toAny(suite.knownDestinations);
  }
}

/** Destinations that the owner has dealt with before, or none at all, for every tool that takes one. */
function knownDestinations(suite: Suite): readonly LoadedGrant[] {
  const tools = [...suite.tools.values()].filter(({ proposed }) => proposed.destination_args.length > 0);
  return [...integrity(suite), ...tools.flatMap((tool) => allowPrefixes(suite, tool, knownPrefixes(suite, tool), "known"))];
}

function usedTools(suite: Suite, task: Task): readonly Tool[] {
  return [...new Set(task.calls.map((call) => call.function))].map((name) => toolOf(suite, name));
}

/** The destinations of one tool that the owner's request names. */
function namedDestinations(tool: Tool, task: Task): readonly Destination[] {
  return task.calls
    .filter((call) => call.function === tool.name)
    .flatMap((call) => destinationsOf(tool, call).filter(({ argument }) => call.args_in_prompt[argument] === true));
}

/** Each tool that the request needs and that takes destinations: to those named in the request, or to nobody. */
function destinationsNamed(suite: Suite, task: Task): readonly LoadedGrant[] {
  return usedTools(suite, task)
    .filter(({ proposed }) => proposed.destination_args.length > 0)
    .flatMap((tool) => {
      const named = namedDestinations(tool, task).map((one) => prefixOf(suite, tool, one));
      return allowPrefixes(suite, tool, [prefixOfNobody(suite, tool), ...named], "named");
    });
}

/** Each call of a sink of which the request says every argument: that very call. */
function callsNamed(suite: Suite, task: Task): readonly LoadedGrant[] {
  const calls = task.calls.filter(
    (call) => isSink(toolOf(suite, call.function)) && Object.keys(call.args).every((name) => call.args_in_prompt[name] === true),
  );
  return calls.map((call, index) => {
    const tool = toolOf(suite, call.function);
    const id = idOf(tool, `-call-${index + 1}`);
    return load(suite, tool, { id, mode: "auto", ifUntrusted: "auto", url: `{ in = ${JSON.stringify(urlsOf(suite, call))} }` });
  });
}

const nothing: Variant["forTask"] = () => [];
const destinationsAndCallsNamed: Variant["forTask"] = (suite, task) => [
  ...destinationsNamed(suite, task),
  ...callsNamed(suite, task),
];

/** Standing and added grants of another variant, but no sink once the session has read something secret. */
function belowSecret({ name, standing, forTask }: Variant): Variant {
  const lower = (suite: Suite, grants: readonly LoadedGrant[]): readonly LoadedGrant[] => {
    const sinks = new Set([...suite.tools.values()].filter(isSink).map((tool) => hostOfTool(suite, tool)));
    return grants.map((loaded) =>
      loaded.grant.hosts.some((host) => sinks.has(host))
        ? loadText(loaded.grant.id, loaded.text.replace('max_taint = "secret"', 'max_taint = "private"'))
        : loaded,
    );
  };
  return {
    name: `${name}_below_secret`,
    standing: (suite) => lower(suite, standing(suite)),
    forTask: (suite, task) => lower(suite, forTask(suite, task)),
  };
}

const DESTINATIONS: Variant = { name: "destinations", standing: integrity, forTask: destinationsNamed };
const ALL_TOGETHER: Variant = {
  name: "destinations_calls_own_files",
  standing: integrityButOwnFiles,
  forTask: destinationsAndCallsNamed,
};

export const VARIANTS: readonly Variant[] = [
  { name: "allow_all", standing: allowAll, forTask: nothing },
  { name: "ask_for_sinks", standing: askForSinks, forTask: nothing },
  { name: "ask_for_writes", standing: askForWrites, forTask: nothing },
  { name: "integrity", standing: integrity, forTask: nothing },
  { name: "calls", standing: integrity, forTask: callsNamed },
  { name: "calls_own_files", standing: integrityButOwnFiles, forTask: callsNamed },
  { name: "known_destinations", standing: knownDestinations, forTask: nothing },
  DESTINATIONS,
  belowSecret(DESTINATIONS),
  { name: "destinations_own_files", standing: integrityButOwnFiles, forTask: destinationsNamed },
  ALL_TOGETHER,
  belowSecret(ALL_TOGETHER),
];
