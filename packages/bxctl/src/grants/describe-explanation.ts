/** Why a call gets what it gets, in lines: which rule in which file and line, what the session has seen and by which call, what would do. */
import {
  type ExplainedMatch,
  type ExplainedMisfit,
  type Explanation,
  escapeText,
  quoteText,
  type Remedy,
  unreachable,
} from "@boxmaker/proto";
import { phraseDenial } from "../approvals/denial-phrase.ts";
import { phraseLabel } from "../approvals/describe-ask.ts";
import { phraseTool } from "../chat/event-lines.ts";

type Body = Explanation["body"];

const NAME_COLUMNS = 12;

/** `name` and its values, one a line; nothing where there are none. */
export function field(name: string, values: readonly string[]): readonly string[] {
  return values.map((value, index) => `  ${(index === 0 ? name : "").padEnd(NAME_COLUMNS)}${value}`);
}

function phrasePlace({ grant, file, line }: ExplainedMatch | ExplainedMisfit): string {
  return `${quoteText(grant)} in ${quoteText(file)} line ${line}`;
}

function phraseBecause({ because, mode, effect, is_default: isDefault }: ExplainedMatch, { before }: Body): string {
  const byDefault = isDefault ? ", its default" : "";
  switch (because) {
    case "mode":
      return `mode = ${mode}`;
    case "if_untrusted":
      return `if_untrusted${byDefault}: the session has read text of strangers`;
    case "max_taint":
      return `max_taint${byDefault}: the session has seen ${before.taint} data`;
    case "uses":
      return "uses: all are spent";
    case "expires":
      return `expires: it has${effect === "deny" ? " expired" : ""}`;
    default:
      return unreachable(because);
  }
}

function phraseMisfit({ fails, argument }: ExplainedMisfit): string {
  switch (fails) {
    case "session":
      return "is for another session";
    case "origins":
      return "is for sessions of another origin";
    case "paths":
      return "names other paths";
    case "hosts":
      return "names other hosts";
    case "args":
      return `its rule for ${argument === null ? "an argument" : quoteText(argument)} doesn't fit`;
    default:
      return unreachable(fails);
  }
}

function otherwiseLines({ otherwise, before }: Body): readonly string[] {
  if (otherwise === null) return [];
  const { effect, because, grant } = otherwise;
  switch (because) {
    case "otherwise":
      return [`${effect}, by tools.toml`];
    case "if_untrusted":
      return [`${effect}, by tools.toml, if_untrusted: the session has read text of strangers`];
    case "max_taint":
      return [`${effect}, by tools.toml, max_taint: the session has seen ${before.taint} data`];
    case "grant":
      return [`${effect}: tools.toml doesn't count here, since ${quoteText(grant ?? "")} says if_untrusted = deny`];
    default:
      return unreachable(because);
  }
}

function phraseRemedy(remedy: Remedy): string {
  const then = remedy.gives === "allowed" ? "runs" : "asks";
  switch (remedy.kind) {
    case "approval":
      return `an approval, by ${remedy.approvers.join(" or ")}`;
    case "new_session":
      return `a new session (${then})`;
    case "state":
      return `a session that has seen no more than ${phraseLabel(remedy.state)} (${then})`;
    case "origin":
      return `a session that comes from ${remedy.origin} (${then})`;
    case "ceiling":
      return `a session that may see ${remedy.ceiling} data (${then})`;
    case "more_uses":
      return `more uses of ${quoteText(remedy.grant)} (${then})`;
    case "later_expiry":
      return `a later expires of ${quoteText(remedy.grant)} (${then})`;
    case "remove_restriction":
      return `without ${quoteText(remedy.grant)} (${then})`;
    default:
      return unreachable(remedy);
  }
}

function remedyLines({ outcome, would_pass: remedies, problem }: Body): readonly string[] {
  if (remedies.length > 0) return remedies.map(phraseRemedy);
  if (outcome !== "denied") return [];
  return [problem === null ? "only with another grant" : "only as another call"];
}

/** What it comes to, in a few words. */
export function phraseOutcome({ outcome, reason }: Pick<Body, "outcome" | "reason">): string {
  switch (outcome) {
    case "allowed":
      return "allowed";
    case "ask":
      return "asks you";
    case "denied":
      return reason === null ? "denied" : `denied: ${phraseDenial(reason)}`;
    default:
      return unreachable(outcome);
  }
}

/**
 * The lines below the first one, all printable.
 *
 * @param unmatched whether the grants that don't speak about the call are of interest
 */
export function explanationLines(body: Body, unmatched: boolean): readonly string[] {
  const { problem, label, before, after, matched, raised_by: raised, path_labels: paths, approvers } = body;
  const misfits = [
    ...body.unmatched.map((misfit) => `${phrasePlace(misfit)}: ${phraseMisfit(misfit)}`),
    ...(body.unmatched_more === 0 ? [] : [`and ${body.unmatched_more} more`]),
  ];
  return [
    ...field("problem", problem === null ? [] : [escapeText(problem)]),
    ...field(
      "rules",
      matched.map((match) => `${phrasePlace(match)}: ${match.effect}, by ${phraseBecause(match, body)}`),
    ),
    ...field("otherwise", otherwiseLines(body)),
    ...field("not about", unmatched ? misfits : []),
    ...field("seen so far", [`${phraseLabel(before)} (may see ${body.ceiling}, comes from ${body.origin})`]),
    ...field(
      "raised by",
      raised.map(
        ({ call, tool, decision, after: to }) => `call ${call}: ${phraseTool(tool)}, to ${phraseLabel(to)} (record ${decision})`,
      ),
    ),
    ...field("result is", label === null ? [] : [phraseLabel(label)]),
    ...field(
      "reads from",
      paths.map((entry) => `${quoteText(entry.path)}: ${phraseLabel(entry.label)}`),
    ),
    ...field("seen after", after === null ? [] : [phraseLabel(after)]),
    ...field("may approve", approvers.length === 0 ? [] : [approvers.join(", ")]),
    ...field("would pass", remedyLines(body)),
  ];
}
