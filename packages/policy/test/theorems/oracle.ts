// Says a second time, slowly and over plain data, what the design's text says of a decision; written from
// that text alone, it shares no code with the rules, so that a misreading has to be made twice to go unseen.

/** A class of data, an effect and a label, as plain words. */
export type PlainClass = "public" | "private" | "secret";
export type PlainEffect = "auto" | "ask" | "deny";
export type PlainLabel = { taint: PlainClass; untrusted: boolean };

/** One predicate on one canonical argument. */
export type PlainPredicate =
  | { in: readonly (string | number)[] }
  | { prefix: string }
  | { max: number }
  | { maxlen: number }
  | { absent: boolean };

/** One grant with every default spelled out. Times are milliseconds since the epoch. */
export type PlainGrant = {
  id: string;
  tool: string;
  mode: PlainEffect;
  maxTaint: PlainClass;
  ifUntrusted: PlainEffect;
  label: PlainClass;
  untrusted: boolean;
  expires: number | null;
  uses: number | null;
  session: string | null;
  origins: readonly string[] | null;
  paths: readonly string[];
  hosts: readonly string[];
  args: Readonly<Record<string, PlainPredicate>>;
};

/** What a tool's calls get that no grant permits now. */
export type PlainOtherwise = {
  mode: PlainEffect;
  maxTaint: PlainClass;
  ifUntrusted: PlainEffect;
  label: PlainClass;
  untrusted: boolean;
};

/** One call: its tool and its canonical arguments. */
export type PlainCall = { tool: string; args: Readonly<Record<string, string>> };

/**
 * Everything else a decision depends on. `labels` are the labels that paths have taken from what was written to them, `trees` those
 * that the owner gave.
 */
export type PlainState = {
  taint: PlainClass;
  untrusted: boolean;
  now: number;
  session: string;
  origin: string;
  ceiling: PlainClass;
  spent: Readonly<Record<string, number>>;
  labels: readonly { path: string; label: PlainLabel }[];
  trees: readonly { path: string; label: PlainLabel }[];
};

/** What the text says that the call gets. `label` is that of the results: of no meaning where the call is denied. */
export type PlainDecision = {
  outcome: PlainEffect;
  reason: string | null;
  named: string | null;
  label: PlainLabel;
  /** What each grant that speaks about the call gives it now, by id. */
  effects: Readonly<Record<string, PlainEffect>>;
};

const CLASSES: readonly PlainClass[] = ["public", "private", "secret"];
const EFFECTS: readonly PlainEffect[] = ["auto", "ask", "deny"];

const above = (left: PlainClass, right: PlainClass): boolean => CLASSES.indexOf(left) > CLASSES.indexOf(right);
const higher = (left: PlainClass, right: PlainClass): PlainClass => (above(left, right) ? left : right);
const stricter = (left: PlainEffect, right: PlainEffect): PlainEffect =>
  EFFECTS.indexOf(left) > EFFECTS.indexOf(right) ? left : right;
const join = (left: PlainLabel, right: PlainLabel): PlainLabel => ({
  taint: higher(left.taint, right.taint),
  untrusted: left.untrusted || right.untrusted,
});

const holdsOrIs = (parent: string, path: string): boolean => path === parent || path.startsWith(`${parent}/`);
const holds = (parent: string, path: string): boolean => path.startsWith(`${parent}/`);

function hostOf(url: string): string {
  const rest = url.slice(url.indexOf("://") + 3);
  return rest.slice(0, rest.search(/[:/]|$/));
}

function hostMatches(pattern: string, host: string): boolean {
  if (!pattern.startsWith("*.")) return pattern === host;
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot + 1) === pattern.slice(2);
}

function satisfies(value: string | undefined, predicate: PlainPredicate): boolean {
  if ("absent" in predicate) return predicate.absent === (value === undefined);
  if (value === undefined) return false;
  if ("in" in predicate) return predicate.in.includes(value);
  if ("prefix" in predicate) {
    return value.startsWith("/") ? holdsOrIs(predicate.prefix, value) : value.startsWith(predicate.prefix);
  }
  if ("maxlen" in predicate) return Buffer.byteLength(value) <= predicate.maxlen;
  return false;
}

/** Step 1: whether a grant is among the grants that match a call, and by which path. */
function matchedPath(grant: PlainGrant, call: PlainCall, state: PlainState): { path: string } | null {
  if (grant.tool !== call.tool) return null;
  if (grant.session !== null && grant.session !== state.session) return null;
  if (grant.origins !== null && !grant.origins.includes(state.origin)) return null;
  for (const [name, predicate] of Object.entries(grant.args)) {
    if (!satisfies(call.args[name], predicate)) return null;
  }
  const longest = (paths: readonly string[]): { path: string } | null => {
    if (paths.length === 0) return null;
    return { path: paths.reduce((a, b) => (b.length > a.length ? b : a)) };
  };
  switch (call.tool) {
    case "read_file":
      return longest(grant.paths.filter((path) => holdsOrIs(path, call.args["path"] ?? "")));
    case "write_file":
      // The text says a proper parent; that a deny of the very file holds for it too is in the decisions.
      return longest(grant.paths.filter((path) => (grant.mode === "deny" ? holdsOrIs : holds)(path, call.args["path"] ?? "")));
    case "shell": {
      const cwd = call.args["cwd"];
      if (cwd === undefined) return { path: "" };
      return longest(grant.paths.filter((path) => holdsOrIs(path, cwd)));
    }
    case "http_fetch":
      return grant.hosts.some((pattern) => hostMatches(pattern, hostOf(call.args["url"] ?? ""))) ? { path: "" } : null;
    default:
      return null;
  }
}

/** Step 2: what one permission gives in a state. */
function effectOf(
  rule: { mode: PlainEffect; maxTaint: PlainClass; ifUntrusted: PlainEffect },
  dead: boolean,
  state: { taint: PlainClass; untrusted: boolean },
): PlainEffect {
  if (dead || above(state.taint, rule.maxTaint)) return "deny";
  return state.untrusted ? stricter(rule.mode, rule.ifUntrusted) : rule.mode;
}

const expired = (grant: PlainGrant, state: PlainState): boolean => grant.expires !== null && state.now >= grant.expires;
const spent = (grant: PlainGrant, state: PlainState): boolean => grant.uses !== null && (state.spent[grant.id] ?? 0) >= grant.uses;

/** Whether a grant that speaks about the call says that it gives nothing to an untrusted session, so that nothing else may. */
const isSwitchedOff = (matching: readonly PlainGrant[]): boolean => matching.some((grant) => grant.ifUntrusted === "deny");

const effectNow = (grant: PlainGrant, state: PlainState): PlainEffect =>
  effectOf(grant, expired(grant, state) || spent(grant, state), state);

/** Step 3: the outcome over the grants that match. */
function outcomeOf(matching: readonly PlainGrant[], otherwise: PlainOtherwise | null, state: PlainState): PlainEffect {
  let restriction: PlainEffect = "auto";
  let permission: PlainEffect = "deny";
  for (const grant of matching) {
    if (grant.mode !== "auto") restriction = stricter(restriction, grant.mode);
    if (grant.mode === "deny") continue;
    const effect = effectNow(grant, state);
    if (EFFECTS.indexOf(effect) < EFFECTS.indexOf(permission)) permission = effect;
  }
  if (otherwise !== null && !isSwitchedOff(matching)) {
    const effect = effectOf(otherwise, false, state);
    if (EFFECTS.indexOf(effect) < EFFECTS.indexOf(permission)) permission = effect;
  }
  return stricter(restriction, permission);
}

/** Those of the credential places that the text names. */
const CREDENTIALS: readonly string[] = [".ssh", ".gnupg", ".aws", ".kube", ".netrc", ".env"];

/** The label of a path that is or lies in a credential place: secret, unless the owner gave it, or a part of it, another. */
function credentialLabel(path: string, state: PlainState): readonly PlainLabel[] {
  const components = path.split("/");
  const at = components.findIndex((component) => CREDENTIALS.includes(component));
  if (at < 0) return [];
  const place = components.slice(0, at + 1).join("/");
  const isSaid = state.trees.some((tree) => holdsOrIs(place, tree.path) && holdsOrIs(tree.path, path));
  return isSaid ? [] : [{ taint: "secret", untrusted: false }];
}

/**
 * The labels of what a call reads: the path, its parents, and everything under it or under a mount. A box's mounts are those of the
 * grants that speak about it, whichever of them permits at the moment, or else a label could fall while the state rises.
 */
function labelsRead(call: PlainCall, mounts: readonly string[], state: PlainState): readonly PlainLabel[] {
  const read = call.tool === "read_file" ? [call.args["path"] ?? ""] : call.tool === "shell" ? mounts : [];
  return read.flatMap((path) => [
    ...[...state.labels, ...state.trees]
      .filter((entry) => holdsOrIs(entry.path, path) || holds(path, entry.path))
      .map((entry) => entry.label),
    ...credentialLabel(path, state),
  ]);
}

/** What `otherwise` mounts for a folder: where it lies in one that a box may write, and so put links in, the outermost such. */
function mountFor(folder: string, grants: readonly PlainGrant[]): string {
  const writing = grants.filter((grant) => grant.mode !== "deny" && (grant.tool === "shell" || grant.tool === "write_file"));
  const above = writing.flatMap((grant) => grant.paths).filter((path) => holds(path, folder));
  return above.reduce((outermost, path) => (path.length < outermost.length ? path : outermost), folder);
}

/** A file right below the root needs the root, which nothing may name. */
const needsRoot = (call: PlainCall): boolean => call.tool === "write_file" && call.args["path"]?.lastIndexOf("/") === 0;

/**
 * Decides a call whose tool exists and whose arguments parse, against a valid set of grants.
 * `toolOtherwise` is that of the call's tool, null where nothing is said.
 */
export function decidePlainly(
  call: PlainCall,
  grants: readonly PlainGrant[],
  toolOtherwise: PlainOtherwise | null,
  state: PlainState,
): PlainDecision {
  const otherwise = needsRoot(call) ? null : toolOtherwise;
  const matches = grants.flatMap((grant) => {
    const matched = matchedPath(grant, call, state);
    return matched === null ? [] : [{ grant, path: matched.path }];
  });
  const matching = matches.map((match) => match.grant);

  const ranked = matches.toSorted(
    (a, b) =>
      EFFECTS.indexOf(b.grant.mode) - EFFECTS.indexOf(a.grant.mode) ||
      b.path.length - a.path.length ||
      (a.grant.id < b.grant.id ? -1 : 1),
  );
  const named = ranked[0]?.grant ?? null;

  const isPermitted =
    outcomeOf(
      matching.filter((grant) => grant.mode !== "deny"),
      null,
      state,
    ) !== "deny";
  const anyway = otherwise !== null && !isPermitted && effectOf(otherwise, false, state) !== "deny" && !isSwitchedOff(matching);
  let label: PlainLabel = { taint: "public", untrusted: false };
  for (const grant of matching) label = join(label, { taint: grant.label, untrusted: grant.untrusted });
  if (otherwise !== null && (anyway || matching.length === 0)) {
    label = join(label, { taint: otherwise.label, untrusted: otherwise.untrusted });
  }
  const cwd = call.args["cwd"];
  const mounts = matching.filter((grant) => grant.mode !== "deny").flatMap((grant) => grant.paths);
  if (cwd !== undefined && otherwise !== null && (anyway || matching.length === 0)) mounts.push(mountFor(cwd, grants));
  for (const read of labelsRead(call, mounts, state)) label = join(label, read);

  const effects = Object.fromEntries(matching.map((grant) => [grant.id, effectNow(grant, state)]));
  const outcome = outcomeOf(matching, otherwise, state);
  if (matching.some((grant) => grant.mode === "deny")) {
    return { outcome: "deny", reason: "denied_by_grant", named: named?.id ?? null, label, effects };
  }
  // A call that nothing speaks about has no results that an audience could get.
  if ((matching.length > 0 || otherwise !== null) && above(label.taint, state.ceiling)) {
    return { outcome: "deny", reason: "audience", named: named?.id ?? null, label, effects };
  }
  if (outcome !== "deny") return { outcome, reason: null, named: named?.id ?? null, label, effects };

  const reason = ((): string => {
    if (outcomeOf(matching, otherwise, { ...state, untrusted: false }) !== "deny") return "untrusted";
    if (matching.some((grant) => above(state.taint, grant.maxTaint))) return "taint";
    if (otherwise !== null && !isSwitchedOff(matching) && above(state.taint, otherwise.maxTaint)) return "taint";
    if (matching.some((grant) => spent(grant, state))) return "uses_spent";
    if (matching.some((grant) => expired(grant, state))) return "expired";
    return "no_grant";
  })();
  return { outcome, reason, named: named?.id ?? null, label, effects };
}
