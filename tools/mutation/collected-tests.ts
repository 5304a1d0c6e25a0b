/**
 * Stands in for `node:test` where mutants are tried: it keeps the tests instead of running them, so that one process can run each as
 * often as it likes. It knows what the tests of the mutation sets use: `test` and `describe`.
 */
import assert from "node:assert/strict";

type Body = () => unknown;
type Skippable = { readonly skip?: boolean | string };

/** A test that was declared. `id` is its names from the outside in; the same names get a number. */
export interface CollectedTest {
  readonly id: string;
  readonly run: Body;
}

const collected = new Map<string, CollectedTest>();
let around: readonly string[] = [];

/** Everything that was declared so far, in order. */
export function collectedTests(): readonly CollectedTest[] {
  return [...collected.values()];
}

/** As of `node:test`. What would be skipped is left out. */
export function test(name: string, ...rest: readonly [Body] | readonly [Skippable, Body]): void {
  const run = rest.length === 1 ? rest[0] : rest[1];
  const skip = rest.length === 1 ? false : rest[0].skip;
  // A body that takes the context of node:test would get none.
  assert.equal(run.length, 0, `the test takes a context, which there is none of here: ${name}`);
  if (skip !== undefined && skip !== false) return;
  const names = [...around, name].join(" > ");
  let id = names;
  for (let number = 2; collected.has(id); number++) id = `${names} (${number})`;
  collected.set(id, { id, run });
}

/** As of `node:test`. */
export function describe(name: string, body: () => void): void {
  const before = around;
  around = [...before, name];
  body();
  around = before;
}
