/** The states and grants that the theorems are tested over: all of a small universe, and random ones of a large. */
import assert from "node:assert/strict";
import { DATA_CLASSES } from "@boxmaker/proto";
import fc from "fast-check";
import type { CallRequest } from "../../src/rules/decide.ts";
import type { Grant, LoadedGrant } from "../../src/rules/grant.ts";
import type { OracleCall, OracleState } from "./oracle.ts";
import { EARLIER, fetchOf, type GrantFields, grant, LATER, path, read, type StateFields, shell, write } from "./support.ts";

export const MODES = ["auto", "ask", "deny"] as const;
export const STATES: readonly (StateFields & { taint: (typeof DATA_CLASSES)[number]; untrusted: boolean })[] = DATA_CLASSES.flatMap(
  (taint) => [false, true].map((untrusted) => ({ taint, untrusted })),
);
const RANK: Readonly<Record<string, number>> = { auto: 0, ask: 1 };

/** 0 runs, 1 asks, 2 denied for whatever reason. */
export function rank(result: string): number {
  return RANK[result] ?? 2;
}

/** Every kind of grant there is at one path: 72 that permit something, and a deny. */
export function kinds(fields: GrantFields): readonly GrantFields[] {
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
export function* setsOf<T>(all: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  yield [];
  if (size === 0) return;
  for (let index = from; index < all.length; index++) {
    const first = all[index];
    if (first === undefined) continue;
    for (const rest of setsOf(all, size - 1, index)) yield [first, ...rest];
  }
}

export function oracleState(fields: StateFields, now: number): OracleState {
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

export const NOW_MS = Date.UTC(2026, 10, 1);

export const SPENT = { x: 1, x0: 1, x1: 1, x2: 1 };

/** The oracle wants ids to be unique; the rule itself doesn't look at them. */
export function withIds(grants: readonly Grant[]): readonly Grant[] {
  return grants.map((each, index) => ({ ...each, id: `x${index}` }));
}

/** `ranks` are in the order of STATES: public, public untrusted, private, private untrusted, … */
export function assertMonotone(ranks: readonly number[], context: unknown): void {
  ranks.forEach((lower, index) => {
    ranks.forEach((higher, other) => {
      const rises = other >= index && (other - index) % 2 === 0;
      const distrusts = index % 2 === 0 && other > index;
      if ((rises || distrusts) && higher < lower)
        assert.fail(`more lenient in a higher state: ${JSON.stringify({ ranks, context })}`);
    });
  });
}

/** One of everything that a grant can say, over a universe of a few paths, hosts, sessions and origins. */
const PATHS = ["/srv", "/srv/a", "/srv/a/b", "/srv/ab", "/home/me", "/home/me/.ssh"] as const;
const HOSTS = ["example.com", "*.example.com", "a.example.com", "*.org"] as const;
const TOOLS = ["read_file", "write_file", "shell", "http_fetch"] as const;

const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined, freq: 2 });

export const anyGrant: fc.Arbitrary<GrantFields> = fc
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
export const anySet: fc.Arbitrary<readonly LoadedGrant[]> = fc
  .array(anyGrant, { maxLength: 8 })
  .map((all) => all.map((fields, index) => grant({ ...fields, id: `g${index}` })));

const TARGETS = [...PATHS, "/srv/a/b/c", "/srv/abc", "/home/me/.ssh/id", "/other"] as const;
export const anyCall: fc.Arbitrary<readonly [CallRequest, OracleCall]> = fc.oneof(
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

export const anyState: fc.Arbitrary<StateFields> = fc.record({
  taint: fc.constantFrom(...DATA_CLASSES),
  untrusted: fc.boolean(),
  origin: fc.constantFrom("terminal" as const, "mcp" as const),
  ceiling: fc.constantFrom("secret" as const, "secret" as const, ...DATA_CLASSES),
  spent: fc.dictionary(fc.constantFrom("g0", "g1", "g2", "g3"), fc.constantFrom(1, 2)),
  pathLabels: anyLabels,
});
