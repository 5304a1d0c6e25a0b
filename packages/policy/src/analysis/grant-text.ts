/** Writes a grant as the owner would: TOML to review, that reads back as the very grant it was made for. */
import { type DataClass, type Hash32, sha256, type ToolName } from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import { completeGrant, GrantFile, type LoadedGrant } from "../rules/grant.ts";

/** What to write. A field that is null or left out isn't written, so its default holds. */
export interface GrantDraft {
  readonly id: string;
  readonly tool: ToolName;
  readonly mode: Effect;
  readonly maxTaint?: DataClass | null;
  readonly ifUntrusted?: Effect | null;
  readonly label?: DataClass | null;
  readonly untrusted?: boolean | null;
  /** In milliseconds since 1970-01-01T00:00:00Z. */
  readonly expires?: number | null;
  readonly uses?: number | null;
  readonly hostExec?: boolean | null;
  readonly paths?: readonly string[];
  readonly hosts?: readonly string[];
  /** Values of arguments: only these are let through. `null`: the argument must be left out. */
  readonly args?: Readonly<Record<string, readonly string[] | null>>;
  /** Lines above it, without `#`. */
  readonly remarks?: readonly string[];
}

/** Everything that doesn't show, or would show as something else, in its escaped form. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** A TOML basic string. JSON's escapes are TOML's too. */
function quote(text: string): string {
  return JSON.stringify(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter);
}

function list(values: readonly string[]): string {
  return `[${values.map(quote).join(", ")}]`;
}

function line(key: string, value: string | number | boolean | null | undefined): readonly string[] {
  if (value === null || value === undefined) return [];
  return [`${key} = ${typeof value === "string" ? quote(value) : value}`];
}

function textOf(draft: GrantDraft): string {
  const { expires, paths, hosts, args = {}, remarks = [] } = draft;
  const predicates = Object.entries(args).map(([name, values]) =>
    values === null ? `${quote(name)} = { absent = true }` : `${quote(name)} = { in = ${list(values)} }`,
  );
  const lines = [
    ...remarks.map((remark) => `# ${remark.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter)}`),
    ...line("id", draft.id),
    ...line("tool", draft.tool),
    ...line("mode", draft.mode),
    ...line("max_taint", draft.maxTaint),
    ...line("if_untrusted", draft.ifUntrusted),
    ...line("label", draft.label),
    ...line("untrusted", draft.untrusted),
    ...(expires === null || expires === undefined ? [] : [`expires = ${new Date(expires).toISOString()}`]),
    ...line("uses", draft.uses),
    ...line("host_exec", draft.hostExec),
    "",
    "[constraints]",
    ...(paths === undefined ? [] : [`paths = ${list(paths)}`]),
    ...(hosts === undefined ? [] : [`hosts = ${list(hosts)}`]),
    ...(predicates.length === 0 ? [] : ["", "[constraints.args]", ...predicates]),
  ];
  return `${lines.join("\n")}\n`;
}

function shapeOf(draft: GrantDraft): GrantFile {
  const { id, tool, mode, maxTaint, ifUntrusted, label, untrusted, expires, uses, hostExec, paths, hosts, args = {} } = draft;
  const fields = {
    max_taint: maxTaint,
    if_untrusted: ifUntrusted,
    label,
    untrusted,
    expires: expires === null || expires === undefined ? null : new Date(expires),
    uses,
    host_exec: hostExec,
  };
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
  const predicates = Object.entries(args).map(([name, values]): readonly [string, unknown] => [
    name,
    values === null ? { absent: true } : { in: values },
  ]);
  const constraints = {
    ...(paths === undefined ? {} : { paths }),
    ...(hosts === undefined ? {} : { hosts }),
    ...(predicates.length === 0 ? {} : { args: Object.fromEntries(predicates) }),
  };
  return GrantFile.parse({ id, tool, mode, ...given, constraints });
}

/**
 * The draft as a file of the grants directory would be loaded: `ID.toml`. What only a whole set can tell (places inside each other, an id
 * that is taken) isn't checked.
 *
 * @throws {z.ZodError} when the draft is no grant: a place that can't be spelled, an id that isn't one
 */
export function loadDraft(draft: GrantDraft): LoadedGrant & { readonly sha256: Hash32 } {
  const text = textOf(draft);
  return { grant: completeGrant(shapeOf(draft)), file: `${draft.id}.toml`, sha256: sha256(text), text };
}
