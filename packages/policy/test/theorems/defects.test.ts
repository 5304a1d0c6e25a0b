/** A net that catches nothing proves nothing: each of many mistakes, made in a copy of the rules, is noticed. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { findFault, findPlainFault, type Policy } from "./checks.ts";
import { DEFECTS, type Defect } from "./defects.ts";
import { anyScenario, EDGES, type Scenario } from "./scenario.ts";

const RULES = path.join(import.meta.dirname, "../../src/rules");
const MODULES = path.join(import.meta.dirname, "../../../../node_modules");
/** The same situations each time: what is caught today is caught tomorrow. */
const SCENARIOS: readonly Scenario[] = [...EDGES, ...fc.sample(anyScenario, { numRuns: 5000, seed: 20_261_101 })];
/** The theorems decide a situation again in every state, so they are held against fewer. */
const THOROUGH = 500;

function isPolicy(value: unknown): value is Policy {
  return typeof value === "object" && value !== null && "decide" in value && "redecide" in value;
}

function findAnyFault(policy: Policy): string | undefined {
  for (const scenario of SCENARIOS) {
    const fault = findPlainFault(policy, scenario);
    if (fault !== undefined) return fault;
  }
  for (const scenario of SCENARIOS.slice(0, THOROUGH)) {
    const fault = findFault(policy, scenario);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

describe("a defect in the rules is noticed:", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "boxmaker-defects-"));
    await writeFile(path.join(folder, "package.json"), JSON.stringify({ type: "module" }));
    // What the copies import is what the rules import.
    await symlink(MODULES, path.join(folder, "node_modules"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** The rules from a copy, with the defect where one is given. */
  async function load(name: string, defect: Defect | undefined): Promise<Policy> {
    const copy = path.join(folder, name);
    await cp(RULES, copy, { recursive: true });
    if (defect !== undefined) {
      const file = path.join(copy, defect.file);
      const text = await readFile(file, "utf8");
      assert.equal(text.split(defect.text).length, 2, `${defect.file} has changed: say this defect anew`);
      await writeFile(
        file,
        text.replace(defect.text, () => defect.instead),
      );
    }
    const loaded: unknown = await import(pathToFileURL(path.join(copy, "decide.ts")).href);
    return isPolicy(loaded) ? loaded : assert.fail("expected decide and redecide");
  }

  test("none, where there is none", async () => {
    assert.equal(findAnyFault(await load("unchanged", undefined)), undefined);
  });

  for (const [number, defect] of DEFECTS.entries()) {
    test(defect.name, async () => {
      assert.notEqual(findAnyFault(await load(`defect-${number}`, defect)), undefined);
    });
  }
});
