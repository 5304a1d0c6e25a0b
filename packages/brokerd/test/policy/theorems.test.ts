/** T1, and policy against its oracle: exhaustively over a small universe, by random search over a large one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DATA_CLASSES, type Label } from "@boxmaker/proto";
import fc from "fast-check";
import type { CallRequest } from "../../src/policy/decide.ts";
import type { Grant, LoadedGrant } from "../../src/policy/grant.ts";
import { type Circumstances, denialOf, outcomeOf } from "../../src/policy/outcome.ts";
import { judgeBy, type OracleCall, type OracleState, oracle } from "./oracle.ts";
import {
  ask,
  EARLIER,
  fetchOf,
  type GrantFields,
  grant,
  LATER,
  outcome,
  path,
  planOf,
  read,
  type StateFields,
  shell,
  write,
} from "./support.ts";

const MODES = ["auto", "ask", "deny"] as const;
const STATES: readonly (StateFields & { taint: (typeof DATA_CLASSES)[number]; untrusted: boolean })[] = DATA_CLASSES.flatMap(
  (taint) => [false, true].map((untrusted) => ({ taint, untrusted })),
);
const RANK: Readonly<Record<string, number>> = { auto: 0, ask: 1 };

/** 0 runs, 1 asks, 2 denied for whatever reason. */
function rank(result: string): number {
  return RANK[result] ?? 2;
}

/** Every kind of grant there is at one path: 72 that permit something, and a deny. */
function kinds(fields: GrantFields): readonly GrantFields[] {
  const permitting = MODES.slice(0, 2).flatMap((mode) =>
    DATA_CLASSES.flatMap((max_taint) =>
      MODES.flatMap((if_untrusted) =>
        [EARLIER, undefined].flatMap((expires) =>
          [1, undefined].map((uses) => ({
            ...fields,
            mode,
            max_taint,
            if_untrusted,
            ...(expires === undefined ? {} : { expires }),
            ...(uses === undefined ? {} : { uses }),
          })),
        ),
      ),
    ),
  );
  return [...permitting, { ...fields, mode: "deny" }];
}

/** All sets of up to `size` of these, order aside. */
function* setsOf<T>(all: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  yield [];
  if (size === 0) return;
  for (let index = from; index < all.length; index++) {
    const first = all[index];
    if (first === undefined) continue;
    for (const rest of setsOf(all, size - 1, index)) yield [first, ...rest];
  }
}

function oracleState(fields: StateFields, now: number): OracleState {
  return {
    taint: DATA_CLASSES.indexOf(fields.taint ?? "public"),
    untrusted: fields.untrusted ?? false,
    ceiling: DATA_CLASSES.indexOf(fields.ceiling ?? "secret"),
    now,
    spent: fields.spent ?? {},
    session: "chat-1",
    origin: fields.origin ?? "terminal",
  };
}

const NOW_MS = Date.UTC(2026, 10, 1);

describe("over all sets of up to three grants that speak about a call, in all states,", () => {
  const spent = (id: string): number => (id === "x" ? 1 : 0);
  /** As two ids, so that uses are spent for one and left for the other. */
  const all = kinds({ id: "x" }).map((fields) => grant(fields).grant);
  const circumstances = STATES.map((label): Circumstances => ({ label, ceiling: "secret", now: NOW_MS, usesSpent: spent }));

  test("the rule says what the oracle says, and more taint or untrusted never makes it more lenient", () => {
    let sets = 0;
    for (const grants of setsOf(all, 3)) {
      sets++;
      const named = withIds(grants);
      const ranks = circumstances.map((state, index) => {
        const found = denialOf(grants, undefined, state, "public") ?? outcomeOf(grants, undefined, state);
        const expected = oracle(
          { tool: "read_file", path: "/srv/notes/a" },
          named,
          oracleState({ ...STATES[index], spent: SPENT }, NOW_MS),
        );
        if (found !== expected.outcome)
          assert.fail(`${found} instead of ${expected.outcome}: ${JSON.stringify({ grants, state })}`);
        return rank(found);
      });
      assertMonotone(ranks, grants);
    }
    assert.equal(sets, 1 + 73 + (73 * 74) / 2 + (73 * 74 * 75) / 6);
  });
});

describe("over all sets of up to two grants beside all that a tool can get otherwise, in all states,", () => {
  const all = kinds({ id: "x" }).map((fields) => grant(fields).grant);
  const others = (["ask", "deny"] as const).flatMap((effect) =>
    DATA_CLASSES.flatMap((maxTaint) => MODES.map((ifUntrusted) => ({ effect, maxTaint, ifUntrusted }))),
  );

  test("the rule says what the oracle says, and more taint or untrusted never makes it more lenient", () => {
    for (const grants of setsOf(all, 2)) {
      const named = withIds(grants);
      for (const otherwise of others) {
        const ranks = STATES.map((label) => {
          const found = outcomeOf(grants, otherwise, { label, ceiling: "secret", now: NOW_MS, usesSpent: () => 1 });
          const expected = judgeBy(named, oracleState({ ...label, spent: SPENT }, NOW_MS), otherwise);
          if (found !== expected) assert.fail(`${found} instead of ${expected}: ${JSON.stringify({ grants, otherwise, label })}`);
          return rank(found);
        });
        assertMonotone(ranks, { grants, otherwise });
      }
    }
  });

  test("a call that only that could let run is denied for its taint, not as one without a grant", () => {
    const otherwise = { effect: "ask", maxTaint: "public", ifUntrusted: "ask" } as const;
    const at = (taint: "public" | "private", ceiling: "public" | "secret"): Circumstances => ({
      label: { taint, untrusted: false },
      ceiling,
      now: NOW_MS,
      usesSpent: () => 0,
    });
    assert.equal(denialOf([], otherwise, at("public", "secret"), "private"), undefined);
    assert.equal(denialOf([], otherwise, at("private", "secret"), "private"), "taint");
    assert.equal(denialOf([], otherwise, at("public", "public"), "private"), "audience");
    assert.equal(denialOf([], undefined, at("public", "public"), "private"), "no_grant");
  });
});

const SPENT = { x: 1, x0: 1, x1: 1, x2: 1 };

/** The oracle wants ids to be unique; the rule itself doesn't look at them. */
function withIds(grants: readonly Grant[]): readonly Grant[] {
  return grants.map((each, index) => ({ ...each, id: `x${index}` }));
}

/** `ranks` are in the order of STATES: public, public untrusted, private, private untrusted, … */
function assertMonotone(ranks: readonly number[], context: unknown): void {
  ranks.forEach((lower, index) => {
    ranks.forEach((higher, other) => {
      const rises = other >= index && (other - index) % 2 === 0;
      const distrusts = index % 2 === 0 && other > index;
      if ((rises || distrusts) && higher < lower)
        assert.fail(`more lenient in a higher state: ${JSON.stringify({ ranks, context })}`);
    });
  });
}

describe("over all pairs of grants at two nested paths, in all states,", () => {
  const SHALLOW = ["/srv/notes"];
  const DEEP = ["/srv/notes/sub"];
  const load = (all: readonly GrantFields[]): readonly LoadedGrant[] => all.map((fields) => grant(fields));
  const firsts = load(kinds({ id: "a", paths: SHALLOW }));
  const seconds = load(kinds({ id: "b", paths: DEEP }));
  const call: OracleCall = { tool: "read_file", path: "/srv/notes/sub/x" };
  const request = read("/srv/notes/sub/x");

  test("decide() says what the oracle says, and names what it names", () => {
    for (const first of firsts) {
      for (const second of seconds) {
        const grants = [first, second];
        const plain = grants.map((loaded) => loaded.grant);
        for (const fields of STATES) {
          const spent = { a: 1 };
          const verdict = ask(request, grants, { ...fields, spent });
          const expected = oracle(call, plain, oracleState({ ...fields, spent }, NOW_MS));
          if (outcome(verdict) !== expected.outcome || verdict.record.grant !== expected.named) {
            assert.fail(
              `${outcome(verdict)} by ${verdict.record.grant}: expected ${JSON.stringify({ expected, first, second, fields })}`,
            );
          }
        }
      }
    }
  });
});

/** One of everything that a grant can say, over a universe of a few paths, hosts, sessions and origins. */
const PATHS = ["/srv", "/srv/a", "/srv/a/b", "/srv/ab", "/home/me", "/home/me/.ssh"] as const;
const HOSTS = ["example.com", "*.example.com", "a.example.com", "*.org"] as const;
const TOOLS = ["read_file", "write_file", "shell", "http_fetch"] as const;

const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined, freq: 2 });

const anyGrant: fc.Arbitrary<GrantFields> = fc
  .record({
    tool: fc.constantFrom(...TOOLS),
    mode: fc.constantFrom("auto", "auto", "ask", "deny"),
    max_taint: optional(fc.constantFrom(...DATA_CLASSES)),
    if_untrusted: optional(fc.constantFrom(...MODES)),
    label: optional(fc.constantFrom(...DATA_CLASSES)),
    untrusted: optional(fc.boolean()),
    expires: optional(fc.constantFrom(EARLIER, LATER, "2026-11-01T00:00:00Z", "2026-11-01T00:00:00.001Z")),
    uses: optional(fc.constantFrom(1, 2)),
    session: optional(fc.constantFrom("chat-1", "chat-1", "chat-2")),
    origins: optional(fc.constantFrom(["terminal"], ["mcp", "gateway"])),
    paths: fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1, maxLength: 3 }),
    hosts: fc.uniqueArray(fc.constantFrom(...HOSTS), { minLength: 1, maxLength: 2 }),
  })
  .map((fields) => {
    const { expires, uses, max_taint, ...rest } = fields;
    // A deny with a limit isn't valid.
    const limits = fields.mode === "deny" ? {} : { expires, uses, max_taint };
    return Object.fromEntries(Object.entries({ ...rest, ...limits }).filter(([, value]) => value !== undefined));
  });

/** Up to eight grants with ids of their own. */
const anySet: fc.Arbitrary<readonly LoadedGrant[]> = fc
  .array(anyGrant, { maxLength: 8 })
  .map((all) => all.map((fields, index) => grant({ ...fields, id: `g${index}` })));

const TARGETS = [...PATHS, "/srv/a/b/c", "/srv/abc", "/home/me/.ssh/id", "/other"] as const;
const anyCall: fc.Arbitrary<readonly [CallRequest, OracleCall]> = fc.oneof(
  fc.constantFrom(...TARGETS).map((at): readonly [CallRequest, OracleCall] => [read(at), { tool: "read_file", path: at }]),
  fc.constantFrom(...TARGETS).map((at): readonly [CallRequest, OracleCall] => [write(at), { tool: "write_file", path: at }]),
  fc.constantFrom(...TARGETS).map((cwd): readonly [CallRequest, OracleCall] => [shell(cwd), { tool: "shell", cwd }]),
  fc.constant<readonly [CallRequest, OracleCall]>([shell(), { tool: "shell" }]),
  fc
    .constantFrom("example.com", "a.example.com", "a.b.example.com", "x.org", "org.com")
    .map((host): readonly [CallRequest, OracleCall] => [fetchOf(`https://${host}/`), { tool: "http_fetch", host }]),
);

const anyLabels = fc.uniqueArray(fc.constantFrom(...TARGETS), { maxLength: 3 }).chain((at) =>
  fc.tuple(
    ...at.map((each) =>
      fc.record({
        path: fc.constant(path(each)),
        label: fc.record({ taint: fc.constantFrom(...DATA_CLASSES), untrusted: fc.boolean() }),
      }),
    ),
  ),
);

const anyState: fc.Arbitrary<StateFields> = fc.record({
  taint: fc.constantFrom(...DATA_CLASSES),
  untrusted: fc.boolean(),
  origin: fc.constantFrom("terminal" as const, "mcp" as const),
  ceiling: fc.constantFrom("secret" as const, "secret" as const, ...DATA_CLASSES),
  spent: fc.dictionary(fc.constantFrom("g0", "g1", "g2", "g3"), fc.constantFrom(1, 2)),
  pathLabels: anyLabels,
});

const RUNS = { numRuns: 1500 };

function joinedClass(verdict: ReturnType<typeof ask>): number {
  return Math.max(0, ...verdict.record.path_labels.map(({ label }) => DATA_CLASSES.indexOf(label.taint)));
}

describe("over random sets of grants, calls and states,", () => {
  test("decide() says what the oracle says, and names what it names", () => {
    fc.assert(
      fc.property(anySet, anyCall, anyState, (grants, [request, call], fields) => {
        const verdict = ask(request, grants, fields);
        const plain = grants.map((loaded) => loaded.grant);
        const expected = oracle(call, plain, oracleState(fields, NOW_MS), joinedClass(verdict));
        assert.deepEqual({ outcome: outcome(verdict), named: verdict.record.grant }, expected);
      }),
      RUNS,
    );
  });

  test("T1: more taint or untrusted never makes a call's outcome more lenient", () => {
    fc.assert(
      fc.property(anySet, anyCall, anyState, (grants, [request], fields) => {
        assertMonotone(
          STATES.map((label) => rank(outcome(ask(request, grants, { ...fields, ...label })))),
          grants,
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("T1: the order and the names of files don't matter", () => {
    fc.assert(
      fc.property(
        anySet,
        anyCall,
        anyState,
        fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
        (grants, [request], fields, keys) => {
          const shuffled = grants
            .map((loaded, index) => ({ loaded: { ...loaded, file: `${keys[index]}.toml` }, key: keys[index] ?? 0 }))
            .sort((a, b) => a.key - b.key)
            .map(({ loaded }) => loaded);
          assert.deepEqual(ask(request, shuffled, fields).record, ask(request, grants, fields).record);
        },
      ),
      RUNS,
    );
  });

  test("T1: adding a deny never makes any outcome more lenient", () => {
    fc.assert(
      fc.property(anySet, anyGrant, anyCall, anyState, (grants, added, [request], fields) => {
        const { expires: _, uses: __, max_taint: ___, ...rest } = added;
        const deny = grant({ ...rest, id: "added", mode: "deny" });
        const before = rank(outcome(ask(request, grants, fields)));
        assert.ok(rank(outcome(ask(request, [...grants, deny], fields))) >= before);
      }),
      RUNS,
    );
  });

  test("T1: adding an ask never lets a call run unapproved that didn't before", () => {
    fc.assert(
      fc.property(anySet, anyGrant, anyCall, anyState, (grants, added, [request], fields) => {
        const before = outcome(ask(request, grants, fields));
        const after = outcome(ask(request, [...grants, grant({ ...added, id: "added", mode: "ask" })], fields));
        assert.ok(after !== "auto" || before === "auto");
      }),
      RUNS,
    );
  });

  test("T2: nothing runs above the highest max_taint of what speaks about it, and nothing unapproved above that of the auto grants", () => {
    fc.assert(
      fc.property(anySet, anyCall, anyState, (grants, [request], fields) => {
        const verdict = ask(request, grants, fields);
        if (verdict.kind === "denied") return;
        const matched = new Set(verdict.record.matched.map(({ grant: id }) => id));
        const speaking = grants.filter(({ grant: { id, mode } }) => matched.has(id) && (verdict.kind === "ask" || mode === "auto"));
        const highest = Math.max(...speaking.map(({ grant: { maxTaint } }) => DATA_CLASSES.indexOf(maxTaint)));
        assert.ok(DATA_CLASSES.indexOf(fields.taint ?? "public") <= highest);
      }),
      RUNS,
    );
  });

  test("T3: once untrusted, nothing runs unapproved unless a grant says if_untrusted auto, and a use of it is spent where it has some", () => {
    fc.assert(
      fc.property(anySet, anyCall, anyState, (grants, [request], fields) => {
        const verdict = ask(request, grants, { ...fields, untrusted: true });
        if (verdict.kind !== "allowed") return;
        const matched = new Set(verdict.record.matched.filter(({ effect }) => effect === "auto").map(({ grant: id }) => id));
        const giving = grants.filter(({ grant: { id } }) => matched.has(id)).map((loaded) => loaded.grant);
        assert.ok(giving.length > 0 && giving.every(({ mode, ifUntrusted }) => mode === "auto" && ifUntrusted === "auto"));
        if (giving.every(({ uses }) => uses !== null)) assert.ok(giving.some(({ id }) => id === verdict.uses));
        else assert.equal(verdict.uses, null);
      }),
      RUNS,
    );
  });

  test("T5: a box that runs is labelled at least as high as every labelled path under what it mounts", () => {
    fc.assert(
      fc.property(anySet, anyState, (grants, fields) => {
        const verdict = ask(shell(), grants, fields);
        if (verdict.kind === "denied") return;
        for (const { path: mount } of planOf(verdict).mounts) {
          for (const { path: labelled, label } of fields.pathLabels ?? []) {
            if (labelled !== mount && !labelled.startsWith(`${mount}/`) && !mount.startsWith(`${labelled}/`)) continue;
            const found: Label | null = verdict.record.label;
            assert.ok(found !== null && DATA_CLASSES.indexOf(found.taint) >= DATA_CLASSES.indexOf(label.taint));
            assert.ok(found.untrusted || !label.untrusted);
          }
        }
      }),
      RUNS,
    );
  });

  test("a box mounts and reaches nothing that no grant permits now, and everything that the call is about", () => {
    fc.assert(
      fc.property(anySet, anyCall, anyState, (grants, [request, call], fields) => {
        const verdict = ask(request, grants, fields);
        if (verdict.kind === "denied") return;
        const { mounts, hosts } = planOf(verdict);
        const live = new Set(verdict.record.matched.filter(({ effect }) => effect !== "deny").map(({ grant: id }) => id));
        const permitting = grants.filter(({ grant: { id } }) => live.has(id)).map((loaded) => loaded.grant);
        const isIn = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`);
        for (const { path: mount } of mounts)
          assert.ok(
            permitting.some(({ paths }) => paths.some((at) => isIn(mount, at))),
            mount,
          );
        if (call.tool === "http_fetch") {
          assert.ok(hosts.length > 0 && mounts.length === 0);
          for (const host of hosts) {
            const wild = `*.${host.slice(host.indexOf(".") + 1)}`;
            assert.ok(
              permitting.some((each) => each.hosts.some((pattern) => pattern === host || pattern === wild)),
              host,
            );
          }
          return;
        }
        assert.equal(hosts.length, 0);
        const target = call.tool === "shell" ? call.cwd : call.path;
        assert.ok(mounts.length > 0 && (target === undefined || mounts.some(({ path: mount }) => isIn(target, mount))));
      }),
      RUNS,
    );
  });
});
