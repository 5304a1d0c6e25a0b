import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Decision } from "@boxmaker/policy";
import { buildRunSpec, isRunSpec } from "../../src/runner/run-spec.ts";
import { decideCall } from "./decisions.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const RUNTIME = { name: "bubblewrap", image: null } as const;

test("buildRunSpec() takes everything from the decision, read-only for read_file and writable for the others", () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("a"));
  mkdirSync(folder.at("b"));
  const paths = [folder.at("a"), folder.at("b")];
  const read = buildRunSpec(decideCall(RUNTIME, { tool: "read_file", arguments: { path: folder.at("a/x") }, paths }));
  assert.deepEqual(
    read.mounts.map(({ path, writable }) => ({ path, writable })),
    [{ path: folder.at("a"), writable: false }],
  );
  assert.equal(read.session, "test");
  assert.equal(read.call, 1);
  assert.equal(read.plan.runtime, "bubblewrap");
  assert.deepEqual(read.egress, []);
  const write = buildRunSpec(
    decideCall(RUNTIME, { tool: "write_file", arguments: { path: folder.at("b/x"), content: "" }, paths }),
  );
  assert.deepEqual(
    write.mounts.map(({ path, writable }) => ({ path, writable })),
    [{ path: folder.at("b"), writable: true }],
  );
  const shell = buildRunSpec(decideCall(RUNTIME, { tool: "shell", arguments: { command: "true" }, paths }));
  assert.deepEqual(
    shell.mounts.map(({ path, writable, source }) => ({ path, writable, kind: source.kind })),
    paths.map((path) => ({ path, writable: true, kind: "directory" })),
  );
  const fetched = buildRunSpec(
    decideCall(RUNTIME, { tool: "http_fetch", arguments: { url: "https://example.com/" }, paths: [], hosts: ["example.com"] }),
  );
  assert.deepEqual(fetched.mounts, []);
  assert.deepEqual(fetched.egress, ["example.com"]);
});

test("buildRunSpec() refuses a forged decision", () => {
  using folder = temporaryFolder();
  const decision = decideCall(RUNTIME, { tool: "read_file", arguments: { path: folder.at("x") }, paths: [folder.path] });
  const { session, call, request, run, label, before, after, grant } = decision;
  const lookAlike = { session, call, request, run, label, before, after, grant } as unknown as Decision;
  const sameClass = Object.create(Object.getPrototypeOf(decision) as object) as Decision;
  for (const forged of [lookAlike, sameClass, null, undefined, "decision"]) {
    assert.throws(() => buildRunSpec(forged as Decision), TypeError);
  }
});

test("a RunSpec can't be made without buildRunSpec(), nor changed", () => {
  using folder = temporaryFolder();
  const spec = buildRunSpec(decideCall(RUNTIME, { tool: "read_file", arguments: { path: folder.at("x") }, paths: [folder.path] }));
  assert.equal(isRunSpec(spec), true);
  const made = spec.constructor as new (...args: unknown[]) => unknown;
  for (const seal of [undefined, Symbol("run-spec"), "run-spec"]) assert.throws(() => new made(seal, {}), TypeError);
  assert.equal(isRunSpec(Object.assign({}, spec)), false);
  assert.equal(isRunSpec(Object.create(spec)), false);
  assert.ok(Object.isFrozen(spec) && Object.isFrozen(spec.mounts) && spec.mounts.every((mount) => Object.isFrozen(mount)));
});

test("buildRunSpec() keeps the identity of each mount, or why it can't be mounted", () => {
  using folder = temporaryFolder();
  writeFileSync(folder.at("file"), "");
  mkdirSync(folder.at("real"));
  symlinkSync("real", folder.at("link"));
  const kinds = ["file", "none", "link", "link/below"].map((name) => {
    const spec = buildRunSpec(
      decideCall(RUNTIME, { tool: "read_file", arguments: { path: folder.at(name) }, paths: [folder.at(name)] }),
    );
    const source = spec.mounts[0]?.source;
    return source?.kind === "unusable" ? source.problem : source?.kind;
  });
  assert.deepEqual(kinds, [
    "file",
    `"${folder.at("none")}" can't be found (ENOENT)`,
    `"${folder.at("link")}" leads through a symbolic link`,
    `"${folder.at("link/below")}" can't be found (ENOENT)`,
  ]);
});
