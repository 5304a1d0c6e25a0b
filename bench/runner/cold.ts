/** A call whose box is started for it, beside the same command line started by nothing but `spawn`, each to the reply. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import { AbsPath, BoxRun, encodeMessage } from "@boxmaker/proto";
import { seccompProgram } from "../../packages/brokerd/src/runner/bubblewrap/seccomp-program.ts";
import { hostEnvironment } from "../../packages/brokerd/src/runner/host-command.ts";
import type { Sandbox } from "../../packages/brokerd/test/runner/sandboxes.ts";
import { temporaryFolder } from "../../packages/brokerd/test/runner/temporary-folder.ts";
import type { Figure } from "../figure/figure.ts";
import { median } from "../figure/sample.ts";
import { BenchBox } from "./bench-box.ts";

const MAX_ROUNDS = 20;
const MAX_MS = 9_000;
const PROGRAMS = { podman: "podman", bubblewrap: "bwrap" } as const;

export async function measureCold(sandbox: Sandbox): Promise<readonly Figure[]> {
  await using box = await BenchBox.open(sandbox, temporaryFolder(), { pool: 0 });
  const bare = await Bare.learn(sandbox, box);
  const times: Record<"boxed" | "bare", number[]> = { boxed: [], bare: [] };
  const until = performance.now() + MAX_MS;
  for (let round = 0; round <= MAX_ROUNDS && performance.now() < until; round++) {
    const boxed = await box.call("read_file");
    await box.quiet();
    const alone = await bare.call();
    if (round === 0) continue;
    times.boxed.push(boxed);
    times.bare.push(alone);
  }
  const rounds = times.boxed.length;
  const against = `the same command line of ${PROGRAMS[sandbox.name]} started bare, with the same Node and request, to the reply, ${rounds} of each in turn`;
  return [
    { name: `${sandbox.name}_vs_bare`, value: median(times.boxed) / median(times.bare), unit: "ratio", against },
    { name: `${sandbox.name}_cold_ms`, value: median(times.boxed), unit: "ms", against: null },
    { name: `${sandbox.name}_bare_ms`, value: median(times.bare), unit: "ms", against: null },
  ];
}

/** The command line of a box as the runtime makes it, without what the runtime does before and around it. */
class Bare {
  readonly #sandbox: Sandbox;
  readonly #args: readonly string[];
  readonly #input: Buffer;
  #calls = 0;

  private constructor(sandbox: Sandbox, args: readonly string[], input: Buffer) {
    this.#sandbox = sandbox;
    this.#args = args;
    this.#input = input;
  }

  /** Has a second runtime make a call by way of a script that writes down what it is given. */
  static async learn(sandbox: Sandbox, box: BenchBox): Promise<Bare> {
    const home = temporaryFolder();
    const program = PROGRAMS[sandbox.name];
    const [script, noted] = [home.at("script"), home.at("noted")];
    const isBox = sandbox.name === "podman" ? '*" run "*' : "*";
    const text = `#!/bin/sh\ncase " $* " in ${isBox}) printf '%s\\0' "$@" > ${noted} ;; esac\nexec ${program} "$@"\n`;
    writeFileSync(script, text, { mode: 0o755 });
    await using learning = await BenchBox.open(sandbox, home, { pool: 0, [sandbox.name]: script });
    await learning.call("read_file");
    await learning.quiet();
    const swap = (word: string): string =>
      word
        .replaceAll(learning.folder.path, box.folder.path)
        // Under root, the device nodes come by way of a place that the runtime makes in a mount namespace of its own.
        .replace(`${learning.home.path}/run/runner/devices/`, "/dev/")
        .replace(learning.home.path, box.home.path);
    const args = readFileSync(noted, "utf8").split("\0").slice(0, -1).map(swap);
    const request = { tool: "read_file", arguments: { path: box.folder.at("note") } } as const;
    const roots = [AbsPath.parse(box.folder.path)];
    const message = { kind: "box_run", body: { request, roots, output_cap: 1024 * 1024, fetch: null } } as const;
    return new Bare(sandbox, args, encodeMessage(BoxRun, { id: 1, final: true, message }));
  }

  /** From the start to the reply, in milliseconds. Resolves when the program has ended. */
  async call(): Promise<number> {
    const args = this.#args.map((word) => (word.startsWith("--name=") ? `--name=boxmaker-bench-${this.#calls++}` : word));
    const started = performance.now();
    const child: ChildProcess = spawn(PROGRAMS[this.#sandbox.name], args, {
      cwd: "/",
      env: hostEnvironment(),
      stdio: ["pipe", "pipe", "ignore", "pipe", "pipe"],
    });
    const filter = child.stdio[3];
    if (filter instanceof Writable) filter.on("error", () => undefined).end(seccompProgram(process.arch, { unixSockets: false }));
    child.stdin?.on("error", () => undefined).end(this.#input);
    const exited = once(child, "exit");
    let took: number | undefined;
    child.stdout?.once("data", () => {
      took = performance.now() - started;
    });
    await exited;
    if (took === undefined) throw new Error(`expected an answer of the bare command, got exit status ${child.exitCode ?? "none"}`);
    return took;
  }
}
