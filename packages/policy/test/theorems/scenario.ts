/** Random whole situations as plain data, and the same ones as the rules take them. */
import {
  AbsPath,
  CallId,
  DATA_CLASSES,
  type Hash32,
  Origin,
  SessionId,
  sha256,
  ToolName,
  timestampFromMillis,
} from "@boxmaker/proto";
import fc from "fast-check";
import type { CallRequest, PolicyState } from "../../src/rules/decide.ts";
import { completeGrant, GrantFile, type LoadedGrant } from "../../src/rules/grant.ts";
import type { Otherwise, ValidGrantSet } from "../../src/rules/grant-set.ts";
import type { PlainCall, PlainGrant, PlainOtherwise, PlainPredicate, PlainState } from "./oracle.ts";

/** One call in one state under one set of grants. */
export type Scenario = {
  grants: readonly PlainGrant[];
  otherwise: PlainOtherwise | null;
  call: PlainCall;
  state: PlainState;
};

export const NOW_MS = Date.UTC(2026, 10, 1);
const TOOLS = ["read_file", "write_file", "shell", "http_fetch"] as const;
const MODES = ["auto", "ask", "deny"] as const;
const PATHS = ["/srv", "/srv/a", "/srv/a/b", "/srv/ab", "/home/me", "/home/me/.ssh"] as const;
const TARGETS = [...PATHS, "/srv/a/b/c", "/srv/abc", "/home/me/.ssh/id", "/other"] as const;
const HOSTS = ["example.com", "*.example.com", "a.example.com", "*.org"] as const;
const NAMED = ["example.com", "a.example.com", "a.b.example.com", "x.org", "org.com"] as const;
const TEXTS = ["", "ls", "ls -l", "lsof", "größer"] as const;

const someClass = fc.constantFrom(...DATA_CLASSES);
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null, freq: 2 });

const textPredicate: fc.Arbitrary<PlainPredicate> = fc.oneof(
  fc.record({ in: fc.uniqueArray(fc.constantFrom(...TEXTS), { minLength: 1, maxLength: 2 }) }),
  fc.record({ prefix: fc.constantFrom("l", "ls ", "g") }),
  fc.record({ maxlen: fc.constantFrom(0, 2, 4, 7) }),
);
const pathPredicate: fc.Arbitrary<PlainPredicate> = fc.oneof(
  fc.record({ in: fc.uniqueArray(fc.constantFrom(...TARGETS), { minLength: 1, maxLength: 3 }) }),
  fc.record({ prefix: fc.constantFrom(...PATHS) }),
);

function argsOf(tool: (typeof TOOLS)[number]): fc.Arbitrary<Readonly<Record<string, PlainPredicate>>> {
  const some = (
    shapes: Readonly<Record<string, fc.Arbitrary<PlainPredicate>>>,
  ): fc.Arbitrary<Readonly<Record<string, PlainPredicate>>> =>
    fc.subarray(Object.keys(shapes)).chain((names) =>
      fc.record(
        Object.fromEntries(
          names.flatMap((name) => {
            const shape = shapes[name];
            return shape === undefined ? [] : [[name, shape]];
          }),
        ),
      ),
    );
  const none = fc.constant({});
  switch (tool) {
    case "read_file":
      return fc.oneof(none, none, some({ path: pathPredicate }));
    case "write_file":
      return fc.oneof(none, none, some({ path: pathPredicate, content: textPredicate }));
    case "shell":
      return fc.oneof(
        none,
        some({
          command: textPredicate,
          cwd: fc.oneof(pathPredicate, fc.record({ absent: fc.boolean() })),
        }),
      );
    case "http_fetch":
      return fc.oneof(
        none,
        none,
        some({
          url: fc.oneof(fc.record({ in: fc.constant(["https://example.com/"]) }), fc.record({ maxlen: fc.constantFrom(20, 24) })),
        }),
      );
  }
}

const anyGrant: fc.Arbitrary<Omit<PlainGrant, "id">> = fc.constantFrom(...TOOLS).chain((tool) =>
  fc.record({
    tool: fc.constant(tool),
    mode: fc.constantFrom("auto" as const, "auto" as const, "ask" as const, "deny" as const),
    maxTaint: someClass,
    ifUntrusted: fc.constantFrom(...MODES),
    label: fc.constantFrom("public" as const, ...DATA_CLASSES),
    untrusted: fc.boolean(),
    expires: rarely(fc.constantFrom(NOW_MS - 1, NOW_MS, NOW_MS + 1)),
    uses: rarely(fc.constantFrom(1, 2)),
    session: rarely(fc.constantFrom("chat-1", "chat-1", "chat-2")),
    origins: rarely(fc.constantFrom(["terminal"], ["mcp", "gateway"])),
    paths: tool === "http_fetch" ? fc.constant([]) : fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1, maxLength: 3 }),
    hosts: tool === "http_fetch" ? fc.uniqueArray(fc.constantFrom(...HOSTS), { minLength: 1, maxLength: 2 }) : fc.constant([]),
    args: argsOf(tool),
  }),
);

const isBelow = (path: string, parent: string): boolean => path.startsWith(`${parent}/`);

/** Whether a permission lies strictly inside what the other one lets a box write: no valid set has such a pair. */
function isNested(inner: PlainGrant, outer: PlainGrant): boolean {
  const isWritable = outer.tool === "shell" || outer.tool === "write_file";
  if (inner.mode === "deny" || outer.mode === "deny" || !isWritable) return false;
  return inner.paths.some((path) => outer.paths.some((parent) => isBelow(path, parent)));
}

/** Up to eight grants that make a valid set; a deny has none of the limits that would let it lapse. */
export const anyGrants: fc.Arbitrary<readonly PlainGrant[]> = fc.array(anyGrant, { maxLength: 8 }).map((all) => {
  const valid: PlainGrant[] = [];
  for (const [index, each] of all.entries()) {
    const id = `g${(index * 5) % 8}`;
    const grant = each.mode === "deny" ? { ...each, id, maxTaint: "secret" as const, expires: null, uses: null } : { ...each, id };
    if ([grant, ...valid].every((other) => !isNested(grant, other) && !isNested(other, grant))) valid.push(grant);
  }
  return valid;
});

export const anyCall: fc.Arbitrary<PlainCall> = fc.oneof(
  fc.record({ tool: fc.constant("read_file"), args: fc.record({ path: fc.constantFrom(...TARGETS) }) }),
  fc.record({
    tool: fc.constant("write_file"),
    args: fc.record({ path: fc.constantFrom(...TARGETS), content: fc.constantFrom(...TEXTS) }),
  }),
  fc.record({
    tool: fc.constant("shell"),
    args: fc.record({ command: fc.constantFrom("ls", "ls -l", "lsof", "größer"), cwd: fc.constantFrom(...TARGETS) }),
  }),
  fc.record({ tool: fc.constant("shell"), args: fc.record({ command: fc.constantFrom("ls", "ls -l", "lsof", "größer") }) }),
  fc.record({
    tool: fc.constant("http_fetch"),
    args: fc.record({ url: fc.constantFrom(...NAMED).map((host) => `https://${host}/`) }),
  }),
);

const anyLabels = fc.uniqueArray(
  fc.record({ path: fc.constantFrom(...TARGETS), label: fc.record({ taint: someClass, untrusted: fc.boolean() }) }),
  { maxLength: 3, selector: ({ path }) => path },
);

export const anyState: fc.Arbitrary<PlainState> = fc.record({
  taint: someClass,
  untrusted: fc.boolean(),
  now: fc.constant(NOW_MS),
  session: fc.constant("chat-1"),
  origin: fc.constantFrom("terminal", "mcp"),
  ceiling: fc.constantFrom("secret" as const, "secret" as const, ...DATA_CLASSES),
  spent: fc.dictionary(fc.constantFrom("g0", "g1", "g2", "g5"), fc.constantFrom(1, 2)),
  labels: anyLabels,
  trees: anyLabels,
});

const anyOtherwise: fc.Arbitrary<PlainOtherwise> = fc.record({
  mode: fc.constant("ask"),
  maxTaint: someClass,
  ifUntrusted: fc.constantFrom(...MODES),
  label: someClass,
  untrusted: fc.boolean(),
});

export const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  grants: anyGrants,
  otherwise: rarely(anyOtherwise),
  call: anyCall,
  state: anyState,
});

const loadedGrants = new WeakMap<PlainGrant, LoadedGrant>();

/** The grant as a loaded file. Its hash is that of what it says. */
export function loadedOf(plain: PlainGrant): LoadedGrant {
  const known = loadedGrants.get(plain);
  if (known !== undefined) return known;
  const loaded = load(plain);
  loadedGrants.set(plain, loaded);
  return loaded;
}

function load(plain: PlainGrant): LoadedGrant {
  const { id, tool, mode, label, untrusted, expires, uses, session, origins, paths, hosts, args } = plain;
  const limits = mode === "deny" ? {} : { max_taint: plain.maxTaint };
  const file = GrantFile.parse({
    id,
    tool,
    mode,
    ...limits,
    if_untrusted: plain.ifUntrusted,
    label,
    untrusted,
    ...(expires === null ? {} : { expires: new Date(expires) }),
    ...(uses === null ? {} : { uses }),
    ...(session === null ? {} : { session }),
    ...(origins === null ? {} : { origins }),
    constraints: {
      ...(tool === "http_fetch" ? { hosts } : { paths }),
      ...(Object.keys(args).length === 0 ? {} : { args }),
    },
  });
  const text = JSON.stringify(plain);
  return { grant: completeGrant(file), file: `${id}.toml`, sha256: sha256(text), text };
}

/** The set of these grants, with what the scenario says of its call's tool and of trees. */
export function setOf({ otherwise, call, state }: Scenario, grants: readonly LoadedGrant[]): ValidGrantSet {
  const text = JSON.stringify(otherwise);
  const rule = otherwise === null ? [] : [[ToolName.parse(call.tool), otherwiseOf(otherwise, sha256(text))] as const];
  return {
    kind: "valid",
    grants,
    otherwise: new Map(rule),
    labels: state.trees.map(({ path, label }) => ({ path: AbsPath.parse(path), label })),
    files: grants.map(({ file, sha256: hash, text: written }) => ({ file, sha256: hash, text: written })),
  };
}

function otherwiseOf({ maxTaint, ifUntrusted, label, untrusted }: PlainOtherwise, hash: Hash32): Otherwise {
  return { effect: "ask", maxTaint, ifUntrusted, label, untrusted, sha256: hash, reserved: [] };
}

export function stateOf({ taint, untrusted, origin, ceiling, spent, labels }: PlainState): PolicyState {
  return {
    label: { taint, untrusted },
    origin: Origin.parse(origin),
    ceiling,
    usesSpent: (id) => spent[id] ?? 0,
    pathLabels: labels.map(({ path, label }) => ({ path: AbsPath.parse(path), label })),
  };
}

export function requestOf({ tool, args }: PlainCall, { session }: PlainState): CallRequest {
  return { session: SessionId.parse(session), call: CallId.parse(7), tool, argumentsText: JSON.stringify(args) };
}

export const NOW = timestampFromMillis(NOW_MS);

/** A grant without any limit, of one folder. */
export const EDGE_GRANT: PlainGrant = {
  id: "g0",
  tool: "shell",
  mode: "auto",
  maxTaint: "secret",
  ifUntrusted: "auto",
  label: "public",
  untrusted: false,
  expires: null,
  uses: null,
  session: null,
  origins: null,
  paths: ["/srv/a"],
  hosts: [],
  args: {},
};
/** One grant, and a call in a new session that it speaks about. */
export const EDGE: Scenario = {
  grants: [EDGE_GRANT],
  otherwise: null,
  call: { tool: "shell", args: { command: "größer", cwd: "/srv/a" } },
  state: {
    taint: "public",
    untrusted: false,
    now: NOW_MS,
    session: "chat-1",
    origin: "terminal",
    ceiling: "secret",
    spent: {},
    labels: [],
    trees: [],
  },
};

/** Situations that chance seldom makes. */
export const EDGES: readonly Scenario[] = [
  { ...EDGE, grants: [{ ...EDGE_GRANT, args: { command: { maxlen: 7 } } }] },
  { ...EDGE, grants: [EDGE_GRANT, { ...EDGE_GRANT, id: "g1", mode: "ask", expires: NOW_MS, paths: ["/srv/a", "/home/me"] }] },
];
