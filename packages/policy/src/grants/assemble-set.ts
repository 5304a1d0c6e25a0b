/** From the texts of a set to the set, or to everything that is wrong with them by themselves and with each other. */
import type { AbsPath, GrantProblem, Hash32, ToolName } from "@boxmaker/proto";
import { completeGrant, type LoadedGrant } from "../rules/grant.ts";
import type { GrantSet, Otherwise } from "../rules/grant-set.ts";
import { checkGrantSet, type NamedGrantFile } from "./check-grant-set.ts";
import type { NamedLabelsFile } from "./check-places.ts";
import type { ToolRule } from "./parse-tools-file.ts";
import { readSetText, type SetText } from "./set-text.ts";
import { sortProblems } from "./sort-problems.ts";

/** A file of a set by its name there, with what it says. */
export interface GivenFile {
  readonly file: string;
  readonly text: string;
}

/** The grant files among the texts. */
export function grantFilesOf(texts: readonly SetText[]): readonly NamedGrantFile[] {
  return texts.flatMap(({ shown, said }) => (said.kind === "grant" ? [{ shown, parsed: said.parsed }] : []));
}

/** `labels.toml`, where it is among the texts. */
export function labelsFileOf(texts: readonly SetText[]): NamedLabelsFile | undefined {
  return texts.flatMap(({ shown, said }) => (said.kind === "labels" ? [{ shown, parsed: said.parsed }] : []))[0];
}

function loadGrants(texts: readonly SetText[]): readonly LoadedGrant[] {
  return texts.flatMap(({ file, text, sha256, said }) =>
    said.kind === "grant" && said.parsed.whole !== undefined
      ? [{ grant: completeGrant(said.parsed.whole), file, sha256, text }]
      : [],
  );
}

function otherwiseOf(texts: readonly SetText[], reserved: readonly AbsPath[]): ReadonlyMap<ToolName, Otherwise> {
  const complete = (rule: ToolRule, sha256: Hash32): Otherwise => Object.freeze({ ...rule, sha256, reserved });
  return new Map(
    texts.flatMap(({ sha256, said }) =>
      said.kind === "tools" ? [...said.parsed.rules].map(([tool, rule]) => [tool, complete(rule, sha256)] as const) : [],
    ),
  );
}

/**
 * The set that these texts make: valid only where nothing at all is wrong.
 *
 * @param reserved the box's own places, as written and without links
 * @param found problems that were found elsewhere
 */
export function assembleSet(
  texts: readonly SetText[],
  reserved: readonly AbsPath[],
  found: readonly GrantProblem[] = [],
): GrantSet {
  const ofFiles = texts.flatMap(({ shown, said }) =>
    said.parsed.problems.map(({ line, problem }): GrantProblem => ({ file: shown, line, problem })),
  );
  const labels = labelsFileOf(texts)?.parsed.labels ?? [];
  const problems = [...found, ...ofFiles, ...checkGrantSet(grantFilesOf(texts), labels, reserved)];
  if (problems.length > 0) return { kind: "invalid", problems: sortProblems(problems) };
  return Object.freeze({
    kind: "valid",
    grants: loadGrants(texts),
    otherwise: otherwiseOf(texts, reserved),
    labels,
    files: texts.map(({ file, sha256, text }) => ({ file, sha256, text })),
  });
}

/**
 * A set from texts alone: what a log keeps of the rules that were in force, or what an owner thinks about. What only the disk can tell
 * (links, whose the files are, a missing folder) isn't looked at.
 *
 * @param given named as in `SetFile`
 * @param reserved the box's own places
 */
export function setFromTexts(given: readonly GivenFile[], reserved: readonly AbsPath[]): GrantSet {
  return assembleSet(
    given.map(({ file, text }) => readSetText(file, file, text)),
    reserved,
  );
}
