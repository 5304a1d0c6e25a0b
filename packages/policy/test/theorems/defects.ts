/** Mistakes that somebody could make in the rules, as small changes of their text. Each must be noticed. */

export interface Defect {
  readonly name: string;
  /** A file of `src/rules`. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly text: string;
  readonly instead: string;
}

const outcome = (name: string, text: string, instead: string): Defect => ({ name, file: "outcome.ts", text, instead });
const matching = (name: string, text: string, instead: string): Defect => ({ name, file: "matching.ts", text, instead });
const predicate = (name: string, text: string, instead: string): Defect => ({ name, file: "predicate.ts", text, instead });
const labels = (name: string, text: string, instead: string): Defect => ({ name, file: "path-labels.ts", text, instead });
const judging = (name: string, text: string, instead: string): Defect => ({ name, file: "judge.ts", text, instead });
const deciding = (name: string, text: string, instead: string): Defect => ({ name, file: "decide.ts", text, instead });
const planning = (name: string, text: string, instead: string): Defect => ({ name, file: "plan-run.ts", text, instead });
const index = (name: string, text: string, instead: string): Defect => ({ name, file: "grant-index.ts", text, instead });

const RESTRICT = "restriction = stricter(restriction, grant.mode);";
const AROUND = "holdsPath(entry.path, path) || holdsPath(path, entry.path)";

export const DEFECTS: readonly Defect[] = [
  outcome("a grant holds for one millisecond too long", "now >= grant.expires", "now > grant.expires"),
  outcome("a grant never expires", "hasExpired(grant, circumstances) || areUsesSpent", "areUsesSpent"),
  outcome("a grant gives one use too many", "usesSpent(grant.id) >= grant.uses", "usesSpent(grant.id) > grant.uses"),
  outcome("uses don't run out", "areUsesSpent(grant, circumstances) || isTooTainted", "isTooTainted"),
  outcome("max_taint is a minimum", "isAbove(label.taint, rule.maxTaint)", "isAbove(rule.maxTaint, label.taint)"),
  outcome("a grant's max_taint is ignored", " || isTooTainted(grant, circumstances)) return", ") return"),
  outcome("if_untrusted is ignored", "? stricter(grant.mode, grant.ifUntrusted)", "? grant.mode"),
  outcome("if_untrusted replaces the mode", "? stricter(grant.mode, grant.ifUntrusted)", "? grant.ifUntrusted"),
  outcome(
    "if_untrusted is the least, not the most",
    "? stricter(grant.mode, grant.ifUntrusted)",
    "? milder(grant.mode, grant.ifUntrusted)",
  ),
  outcome(
    "an ask restricts only while it permits",
    RESTRICT,
    `if (grant.mode === "deny" || effectOf(grant, circumstances) !== "deny") ${RESTRICT}`,
  ),
  outcome("an expired ask restricts no more", RESTRICT, `if (!hasExpired(grant, circumstances)) ${RESTRICT}`),
  outcome("only denies restrict", RESTRICT, `if (grant.mode === "deny") ${RESTRICT}`),
  outcome("restrictions are forgotten", "return stricter(restriction, permission);", "return permission;"),
  outcome(
    "a permission lifts a restriction",
    "return stricter(restriction, permission);",
    "return milder(restriction, permission);",
  ),
  outcome(
    "the last grant permits, not the most lenient",
    "permission = milder(permission, effectOf(grant, circumstances))",
    "permission = effectOf(grant, circumstances)",
  ),
  outcome(
    "otherwise has no max_taint",
    "otherwise === undefined || isTooTainted(otherwise, circumstances)",
    "otherwise === undefined",
  ),
  outcome("otherwise knows no strangers", "? stricter(otherwise.effect, otherwise.ifUntrusted)", "? otherwise.effect"),
  outcome("the audience doesn't matter", "if (speaks && isAbove(resultClass, circumstances.ceiling))", "if (false)"),
  outcome(
    "a result of the ceiling's own class is too much",
    "isAbove(resultClass, circumstances.ceiling)",
    "!isAbove(circumstances.ceiling, resultClass)",
  ),
  outcome("a denial for strangers isn't told from one for taint", 'return "untrusted"', 'return "taint"'),
  outcome("what is used up is said to have expired", 'return "uses_spent"', 'return "expired"'),
  matching("a session's grant holds for every session", "if (grant.session !== null && grant.session !== session) continue;", ""),
  matching("a grant holds for every origin", "if (grant.origins !== null && !grant.origins.includes(origin)) continue;", ""),
  matching(
    "a write is permitted at the granted path itself",
    "? holdsPath(path, target) : isProperParent(path, target)",
    "? holdsPath(path, target) : holdsPath(path, target)",
  ),
  matching(
    "a deny of a file doesn't keep it from being written",
    "? holdsPath(path, target) : isProperParent(path, target)",
    "? isProperParent(path, target) : isProperParent(path, target)",
  ),
  matching(
    "a read is permitted by its beginning, not by component",
    "holdsPath(path, call.arguments.path)",
    "call.arguments.path.startsWith(path)",
  ),
  matching("a command without cwd matches nothing", "cwd === undefined ? { path: null } :", "cwd === undefined ? undefined :"),
  matching("the cwd doesn't matter", "holdsPath(path, cwd)", "path.length > 0"),
  matching("the shortest path is named", "path.length > best.length", "path.length < best.length"),
  matching(
    "the mildest mode is named",
    "compareStrictestFirst(a.loaded.grant.mode, b.loaded.grant.mode)",
    "compareStrictestFirst(b.loaded.grant.mode, a.loaded.grant.mode)",
  ),
  matching("the highest id is named", "a.loaded.grant.id < b.loaded.grant.id", "a.loaded.grant.id > b.loaded.grant.id"),
  matching("predicates don't matter", "fit !== undefined && fitsPredicates(grant, call)", "fit !== undefined"),
  predicate("a prefix of a path is one of its text", "holdsPath(parent.data, child.data)", "child.data.startsWith(parent.data)"),
  predicate("maxlen counts characters", "Buffer.byteLength(value) <= maxlen", "value.length <= maxlen"),
  predicate("absent is ignored", "predicate.absent !== undefined && predicate.absent !== (value === undefined)", "false"),
  predicate("an absent argument fits everything", "if (value === undefined) return ", "if (value === undefined) return true || "),
  predicate("in lets every value through", "=== false) return false;", "=== undefined) return false;"),
  labels("a label of a parent is lost", AROUND, "holdsPath(path, entry.path)"),
  labels("a label below is lost", AROUND, "holdsPath(entry.path, path)"),
  labels("credentials are no secret", "[{ path: place, label: SECRET }]", "[]"),
  labels(
    "what a tree says holds for the credentials in it",
    "holdsPath(place, tree.path) && holdsPath(tree.path, path)",
    "holdsPath(tree.path, path)",
  ),
  labels(
    "the owner's labels don't count",
    "return [...labelsAround(path, owner), ...labelOfPlace(path, owner)];",
    "return labelOfPlace(path, owner);",
  ),
  labels("a box has read nothing of what it mounts", "joinByPath(mounts.flatMap((mount) => around(mount.path)))", "[]"),
  judging(
    "a result has the label of the named grant alone",
    "const ofRules = rules.map(",
    "const ofRules = rules.slice(0, 1).map(",
  ),
  judging("a label falls with what is permitted", ", ...mountedInSomeState(matches)]", "]"),
  judging("what came by otherwise has no label", "? grants : [...grants, ruling.otherwise]", "? grants : grants"),
  judging("a use is never spent", "return giving[0]?.id ?? null;", "return null;"),
  deciding(
    "an approval holds in every state",
    "grant_sha256: grantSha256, run, label, before, after }",
    "grant_sha256: grantSha256, run }",
  ),
  deciding("an approval outlives a change of the grant", "grant_sha256: grantSha256, ", ""),
  deciding("what is approved isn't compared", "fresh.digest !== ask.digest || !mayStillAnswer", "!mayStillAnswer"),
  deciding("a call's label replaces the state", "after: joinLabel(before, judgement.label)", "after: judgement.label"),
  deciding("a call raises nothing", "after: joinLabel(before, judgement.label)", "after: before"),
  planning("what a deny names is visible", ", ...grants.deniedBelow(path)]", "]"),
  planning("a file that is written takes no label", "return [call.arguments.path];", "return [];"),
  planning(
    "a box that may write leaves no label",
    "plan.mounts.filter((mount) => mount.writable)",
    "plan.mounts.filter((mount) => !mount.writable)",
  ),
  planning("a read may write", 'writable: call.tool === "write_file"', "writable: true"),
  planning(
    "a box mounts what isn't permitted now",
    "loaded.grant.paths.flatMap((path) => permittedPart(path, permitted))",
    "loaded.grant.paths",
  ),
  index("wildcards are not looked up", '`*${host.slice(host.indexOf("."))}`', "host"),
  index(
    "a grant of the very path is not looked up",
    'for (let rest: string = path; rest !== ""; ',
    'for (let rest: string = path.slice(0, path.lastIndexOf("/")); rest !== ""; ',
  ),
];
