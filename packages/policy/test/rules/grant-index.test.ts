/** The index of grants gives what looking at every grant would give. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AbsPath, isProperParent, parseToolCall, type ToolCall, type ToolName } from "@boxmaker/proto";
import fc from "fast-check";
import { GrantIndex } from "../../src/rules/grant-index.ts";
import { fitsCall } from "../../src/rules/matching.ts";
import { type GrantFields, grant, path } from "./support.ts";

const anyPath = fc
  .array(fc.constantFrom("a", "ab", "b", "b-c"), { minLength: 1, maxLength: 4 })
  .map((components): AbsPath => path(`/${components.join("/")}`));
const anyGrant = fc.record({
  tool: fc.constantFrom("read_file", "write_file", "shell"),
  mode: fc.constantFrom("auto", "ask", "deny"),
  paths: fc.uniqueArray(anyPath, { minLength: 1, maxLength: 4 }),
});
const anyGrants = fc.array(anyGrant, { maxLength: 6 });

function load(all: readonly GrantFields[]): GrantIndex {
  return GrantIndex.of(all.map((fields, index) => grant({ ...fields, id: `g${index}` })));
}

function pathsOf(all: readonly GrantFields[]): readonly AbsPath[] {
  return all.flatMap(({ paths = [] }) => paths.map((text) => path(text)));
}

function callOf(tool: ToolName, args: object): ToolCall {
  const parsed = parseToolCall(tool, JSON.stringify(args));
  return parsed.kind === "ok" ? parsed.value : assert.fail(parsed.problem);
}

test("what is denied below a folder is what some deny names strictly below it, each path once, sorted", () => {
  fc.assert(
    fc.property(anyGrants, anyPath, (all, folder) => {
      const denied = pathsOf(all.filter(({ mode }) => mode === "deny"));
      const below = denied.filter((one) => isProperParent(folder, one));
      assert.deepEqual(load(all).deniedBelow(folder), [...new Set(below)].sort());
    }),
    { numRuns: 300 },
  );
});

test("the writable folder above a path is the outermost one strictly above it that a box may write", () => {
  fc.assert(
    fc.property(anyGrants, anyPath, (all, at) => {
      const writable = pathsOf(all.filter(({ mode, tool }) => mode !== "deny" && tool !== "read_file"));
      const [outermost] = writable.filter((one) => isProperParent(one, at)).sort((a, b) => a.length - b.length);
      assert.equal(load(all).writableAbove(at), outermost);
    }),
    { numRuns: 300 },
  );
});

test("the candidates for a call are of its tool, each once, and every grant that fits is among them", () => {
  fc.assert(
    fc.property(anyGrants, anyPath, (all, at) => {
      const loaded = all.map((fields, index) => grant({ ...fields, id: `g${index}` }));
      const index = GrantIndex.of(loaded);
      for (const call of [
        callOf("read_file", { path: at }),
        callOf("write_file", { path: at, content: "" }),
        callOf("shell", { command: "ls", cwd: at }),
        callOf("shell", { command: "ls" }),
      ]) {
        const candidates = index.candidates(call);
        assert.equal(new Set(candidates).size, candidates.length);
        assert.ok(candidates.every((one) => one.grant.tool === call.tool));
        for (const one of loaded) assert.ok(fitsCall(one.grant, call) === undefined || candidates.includes(one));
      }
    }),
    { numRuns: 200 },
  );
});

test("a command in a folder has only the grants above that folder for candidates, since most speak of other places", () => {
  const index = load([
    { tool: "shell", paths: ["/a"] },
    { tool: "shell", paths: ["/b"] },
  ]);
  const ids = (args: object): readonly string[] => index.candidates(callOf("shell", args)).map((one) => one.grant.id);
  assert.deepEqual(ids({ command: "ls", cwd: "/b/c" }), ["g1"]);
  assert.deepEqual(ids({ command: "ls" }), ["g0", "g1"]);
});

test("the index of the same grants is made once", () => {
  const grants = [grant()];
  assert.equal(GrantIndex.of(grants), GrantIndex.of(grants));
  assert.notEqual(GrantIndex.of(grants), GrantIndex.of([...grants]));
});
