/** T1 to T3 and T5, and policy against its oracle, by random search over a large universe. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DATA_CLASSES, type Label } from "@boxmaker/proto";
import fc from "fast-check";
import { oracle } from "./oracle.ts";
import { ask, grant, outcome, planOf, shell } from "./support.ts";
import { anyCall, anyGrant, anySet, anyState, assertMonotone, NOW_MS, oracleState, rank, STATES } from "./universe.ts";

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
