/** A call whose box is started for it, beside the same command line started by nothing but `spawn`, each to the reply. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { BoxRun, encodeMessage } from "@boxmaker/proto";
import { seccompProgram } from "../../packages/brokerd/src/runner/bubblewrap/seccomp-program.ts";
import { hostEnvironment } from "../../packages/brokerd/src/runner/host-command.ts";
import type { Sandbox } from "../../packages/brokerd/test/runner/sandboxes.ts";
import type { Figure } from "../figure/figure.ts";
import { median } from "../figure/sample.ts";
import type { BenchBox } from "./bench-box.ts";

const MAX_ROUNDS = 30;
const MAX_MS = { podman: 14_000, bubblewrap: 6_000 } as const;
const PROGRAMS = { podman: "podman", bubblewrap: "bwrap" } as const;

export async function measureCold({ name }: Sandbox, box: BenchBox, maxRounds: number = MAX_ROUNDS): Promise<readonly Figure[]> {
  const bare = await Bare.learn(name, box);
  const times: Record<"boxed" | "bare", number[]> = { boxed: [], bare: [] };
  const until = performance.now() + MAX_MS[name];
  for (let round = 0; round <= maxRounds && (round <= 1 || performance.now() < until); round++) {
    const boxed = await box.call("read_file");
    await box.quiet();
    const alone = await bare.call();
    if (round === 0) continue;
    times.boxed.push(boxed);
    times.bare.push(alone);
  }
  const rounds = times.boxed.length;
  const against = `the same command line of ${PROGRAMS[name]} started bare, with the same Node and request, to the reply, ${rounds} of each in turn`;
  return [
    { name: `${name}_vs_bare`, value: median(times.boxed) / median(times.bare), unit: "ratio", against },
    { name: `${name}_cold_ms`, value: median(times.boxed), unit: "ms", against: null },
    { name: `${name}_bare_ms`, value: median(times.bare), unit: "ms", against: null },
  ];
}

/** The command line of a box as the runtime makes it, without what the runtime does before and around it. */
class Bare {
  readonly #program: string;
  readonly #args: readonly string[];
  readonly #input: Buffer;
  #calls = 0;

  private constructor(program: string, args: readonly string[], input: Buffer) {
    this.#program = program;
    this.#args = args;
    this.#input = input;
  }

  /** Has a box wait, and reads how it was started. */
  static async learn(name: Sandbox["name"], box: BenchBox): Promise<Bare> {
    await box.call("read_file");
    await box.untilOneWaits();
    const program = PROGRAMS[name];
    const [, ...words] = commandLines().find(([first]) => first === program) ?? [];
    if (words.length === 0) throw new Error(`expected a child that is ${program}`);
    await box.quiet();
    const args = words
      .filter((word) => !word.startsWith("--pidfile="))
      // Under root, the device nodes come by way of a place that the runtime makes in a mount namespace of its own.
      .map((word) => word.replace(`${box.home.path}/run/runner/devices/`, "/dev/"));
    const request = { tool: "read_file", arguments: { path: box.folder.at("note") } } as const;
    const body = { request, roots: [box.folder.path], mounts: null, output_cap: 1024 * 1024, fetch: null };
    return new Bare(program, args, encodeMessage(BoxRun, { id: 1, final: true, message: { kind: "box_run", body } }));
  }

  /** From the start to the reply, in milliseconds. Resolves when the program has ended. */
  async call(): Promise<number> {
    const args = this.#args.map((word) => (word.startsWith("--name=") ? `--name=boxmaker-bench-${this.#calls++}` : word));
    const started = performance.now();
    const child: ChildProcess = spawn(this.#program, args, {
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

/** Those of this process's children, each in words. */
function commandLines(): readonly (readonly string[])[] {
  const children = globSync("/proc/self/task/*/children").flatMap((path) => readFileSync(path, "utf8").split(" "));
  return children.filter((id) => id !== "").map((id) => readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0").slice(0, -1));
}
