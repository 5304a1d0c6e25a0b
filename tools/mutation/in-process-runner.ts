/**
 * A test runner for Stryker that loads a set's tests once and runs only those that reach the mutant, in the same process: a process
 * for each mutant would spend nearly all its time on loading. Only a mutant that is reached while the sources are loaded gets one.
 *
 * What the test files compute while they are loaded is computed without the mutant, so that it can only make a test miss it.
 *
 * Mutants share the process's state, such as memories of earlier results. So a test that fails has to pass again with the mutant
 * switched off; where it doesn't, an earlier mutant has left something behind and the run is repeated in a new process.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { ROOT } from "../workspace/manifest.ts";
import { type CollectedTest, collectedTests } from "./collected-tests.ts";

type Counts = Record<string, number>;

/** What the changed sources look up to know which mutant they are. */
interface Switchboard {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: Counts; readonly perTest: Record<string, Counts> } | undefined;
}

interface MutantRun {
  readonly activeMutant: { readonly id: string };
  readonly mutantActivation: "runtime" | "static";
  readonly testFilter?: readonly string[];
  readonly hitLimit?: number;
}

const switchboard: Switchboard = {};
const strays: unknown[] = [];

/** How much longer than without a mutant a test may take before it counts as one that never ends, and how long at least. */
const PATIENCE = { factor: 20, milliseconds: 5000 } as const;
const HUNG = "the test didn't come to its end";

/** The failure of a test, or undefined where it passes. What waits for ever in its process counts as {@link HUNG}. */
async function failureOf({ run, id }: CollectedTest, times: ReadonlyMap<string, number>): Promise<string | undefined> {
  strays.length = 0;
  const usual = times.get(id) ?? PATIENCE.milliseconds;
  const deadline = AbortSignal.timeout(Math.ceil(PATIENCE.milliseconds + PATIENCE.factor * usual));
  const { promise: hung, resolve } = Promise.withResolvers<string>();
  const giveUp = (): void => resolve(HUNG);
  deadline.addEventListener("abort", giveUp);
  try {
    if ((await Promise.race([run(), hung])) === HUNG) return HUNG;
    // As in node:test: a promise that nobody waits for and that rejects is a failure.
    await new Promise(setImmediate);
    return strays.length === 0 ? undefined : `unhandled: ${inspect(strays)}`;
  } catch (error) {
    // Whatever a test throws says that it has noticed something.
    return String(error);
  } finally {
    deadline.removeEventListener("abort", giveUp);
  }
}

/** In the sandbox: how long each test took, in milliseconds, for the processes that come after the one that found out. */
const TIMES_FILE = "test-times.json";

function readTimes(): ReadonlyMap<string, number> {
  if (!existsSync(TIMES_FILE)) return new Map();
  return new Map(Object.entries(JSON.parse(readFileSync(TIMES_FILE, "utf8")) as Record<string, number>));
}

/** A test that took longer, in milliseconds, isn't run for mutants: what only it would notice counts as missed. */
const TOO_SLOW = 2000;

/** The quickest first, since the first that fails ends a run, and the slow ones not at all. */
function byTime(tests: readonly CollectedTest[], times: ReadonlyMap<string, number>): readonly CollectedTest[] {
  const quick = tests.filter(({ id }) => (times.get(id) ?? 0) <= TOO_SLOW);
  return quick.toSorted((a, b) => (times.get(a.id) ?? 0) - (times.get(b.id) ?? 0));
}

/** What a test that reaches a mutant only while it is declared is called in the count of who reaches what. */
const DECLARING = "declaring the tests";

/** Folder and files relative to the sandbox. */
interface InProcessOptions {
  readonly packageInProcess: string;
  readonly sourcesInProcess: readonly string[];
  readonly testsInProcess: readonly string[];
}

class InProcessRunner {
  static readonly inject = ["options"] as const;
  readonly #options: InProcessOptions;
  #tests: readonly CollectedTest[] | undefined;
  #times: ReadonlyMap<string, number> = new Map();
  #isFresh = true;
  #isSpoilt = false;

  constructor(options: InProcessOptions) {
    this.#options = options;
  }

  capabilities(): object {
    return { reloadEnvironment: false };
  }

  async dryRun(): Promise<object> {
    switchboard.mutantCoverage = { static: {}, perTest: {} };
    const tests = await this.#load();
    const results: object[] = [];
    const times: Record<string, number> = {};
    for (const test of tests) {
      switchboard.currentTestId = test.id;
      const started = performance.now();
      const failure = await failureOf(test, this.#times);
      const timeSpentMs = performance.now() - started;
      times[test.id] = timeSpentMs;
      const base = { id: test.id, name: test.id, timeSpentMs };
      results.push(failure === undefined ? { ...base, status: 0 } : { ...base, status: 1, failureMessage: failure });
    }
    switchboard.currentTestId = undefined;
    writeFileSync(TIMES_FILE, JSON.stringify(times));
    this.#times = readTimes();
    this.#tests = byTime(tests, this.#times);
    return { status: "complete", tests: results, mutantCoverage: switchboard.mutantCoverage };
  }

  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit }: MutantRun): Promise<object> {
    if (this.#isSpoilt) throw new Error("an earlier mutant left something behind: a new process is needed");
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    switchboard.mutantCoverage = undefined;
    switchboard.hitCount = 0;
    switchboard.hitLimit = hitLimit;
    const isStatic = mutantActivation === "static";
    // What runs while the files are loaded must see a static mutant, and no other.
    if (isStatic) switchboard.activeMutant = activeMutant.id;
    let tests: readonly CollectedTest[];
    try {
      tests = await this.#load();
    } catch (error) {
      return { status: "killed", killedBy: [], failureMessage: String(error), nrOfTests: 0 };
    }
    const wanted = testFilter === undefined ? tests : tests.filter(({ id }) => testFilter.includes(id));
    let count = 0;
    for (const test of wanted) {
      count++;
      switchboard.activeMutant = activeMutant.id;
      const failure = await failureOf(test, this.#times);
      switchboard.activeMutant = undefined;
      if (failure === undefined) continue;
      const isEndless = hitLimit !== undefined && switchboard.hitCount > hitLimit;
      if (failure === HUNG || isEndless) {
        this.#isSpoilt = true;
        return { status: "timeout", reason: isEndless ? "the mutant was reached far too often" : HUNG };
      }
      // A static mutant can't be switched off, but it has a process of its own.
      this.#isSpoilt = !isStatic && (await failureOf(test, this.#times)) !== undefined;
      if (this.#isSpoilt && !isFresh) throw new Error("a mutant left something behind: a new process is needed");
      return { status: "killed", killedBy: [test.id], failureMessage: failure, nrOfTests: count };
    }
    return { status: "survived", nrOfTests: count };
  }

  async #load(): Promise<readonly CollectedTest[]> {
    if (this.#tests !== undefined) return this.#tests;
    Object.assign(globalThis, { __stryker__: switchboard });
    process.on("unhandledRejection", (reason) => strays.push(reason));
    const folderIn = (root: string): string => `${pathToFileURL(resolve(root, this.#options.packageInProcess)).href}/`;
    const [original, copy] = [folderIn(ROOT), folderIn(".")] as const;
    const substitute = new URL("collected-tests.ts", import.meta.url).href;
    registerHooks({
      resolve: (specifier, context, nextResolve) => {
        if (specifier === "node:test") return { url: substitute, shortCircuit: true };
        const found = nextResolve(specifier, context);
        // A package's name leads to the unchanged sources, by a link of npm's.
        return found.url.startsWith(original) ? { ...found, url: copy + found.url.slice(original.length) } : found;
      },
    });
    const { sourcesInProcess, testsInProcess } = this.#options;
    for (const file of sourcesInProcess) await import(pathToFileURL(resolve(file)).href);
    const { activeMutant } = switchboard;
    switchboard.activeMutant = undefined;
    switchboard.currentTestId = DECLARING;
    for (const file of testsInProcess) await import(pathToFileURL(resolve(file)).href);
    switchboard.currentTestId = undefined;
    switchboard.activeMutant = activeMutant;
    delete switchboard.mutantCoverage?.perTest[DECLARING];
    this.#times = readTimes();
    const tests = byTime(collectedTests(), this.#times);
    this.#tests = tests;
    return tests;
  }
}

/** What Stryker looks for in a plugin. */
export const strykerPlugins = [{ kind: "TestRunner", name: "in-process", injectableClass: InProcessRunner }];
