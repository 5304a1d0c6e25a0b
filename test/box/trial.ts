/** A trial box as a person has it: the boxmaker program, its terminal's lines, and the home it leaves. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { AuditRecord, readJson } from "@boxmaker/proto";

const MAIN = join(import.meta.dirname, "../../packages/boxmaker/src/main.ts");

/** A folder for homes, removed when its scope ends. */
export async function trialFolder(): Promise<
  AsyncDisposable & { readonly path: string; readonly home: string; readonly notes: string }
> {
  const path = await mkdtemp(join(tmpdir(), "boxmaker-trial-"));
  const home = join(path, "home");
  return { path, home, notes: join(home, "notes"), [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One run of `boxmaker try`. */
export class Trial implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";
  #hasEnded = false;
  readonly #waiting = new Set<() => void>();

  constructor(home: string, args: readonly string[]) {
    // The demo model unless a test says otherwise: nothing depends on what listens on this machine's usual ports.
    const model = args.includes("--model") ? [] : ["--model", "demo"];
    this.#child = spawn(process.execPath, [MAIN, "try", "--home", home, ...model, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdin.on("error", () => undefined);
    this.#child.stdout.on("data", (chunk: Buffer) => {
      this.#stdout += chunk.toString();
      this.#look();
    });
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr += chunk.toString();
      this.#look();
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        this.#hasEnded = true;
        this.#look();
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
      });
    });
  }

  /** Types one line. */
  type(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Ends the input, as Ctrl-D does. */
  leave(): void {
    this.#child.stdin.end();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until both streams together match, and returns the match. Fails when the program has ended without. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(`${this.#stdout}\n${this.#stderr}`);
      if (match !== null) return match;
      if (this.#hasEnded) throw new Error(`ended without ${String(pattern)}:\n${this.#stdout}\n${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  ended(): Promise<Ended> {
    return this.#ended;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    await this.#ended;
  }

  #look(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

/** The records of a home's audit log. */
export async function auditRecords(home: string): Promise<readonly AuditRecord[]> {
  const directory = join(home, "audit");
  const files = (await readdir(directory)).filter((name) => name.endsWith(".jsonl")).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
  return texts
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const reading = readJson(line);
      if (reading.kind === "invalid") throw new Error(reading.problem);
      return AuditRecord.parse(reading.value);
    });
}

/** The process ids of the roles that a boxmaker process started, by name. */
export async function rolePids(boxmaker: number): Promise<ReadonlyMap<string, number>> {
  const pids = new Map<string, number>();
  for (const name of await readdir("/proc")) {
    if (!/^[0-9]+$/u.test(name)) continue;
    const [stat, command] = await Promise.all([
      readFile(`/proc/${name}/stat`, "utf8").catch(() => ""),
      readFile(`/proc/${name}/cmdline`, "utf8").catch(() => ""),
    ]);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    const role = /packages\/([a-z-]+)\/src\/main\.ts/u.exec(command)?.[1];
    if (parent === boxmaker && role !== undefined) pids.set(role, Number(name));
  }
  return pids;
}
