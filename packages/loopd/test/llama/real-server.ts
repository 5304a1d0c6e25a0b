/** A real llama-server with a small model, behind inferproxy, as a box has it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { TestHome } from "../support/home.ts";

const INFERPROXY = join(import.meta.dirname, "../../../inferproxy/src/main.ts");
const SERVE = join(import.meta.dirname, "serve.py");

/** Where the server and its model were installed; undefined where they weren't. */
const installed = process.env["BOXMAKER_TEST_LLAMA"];

/** Why the tests with a real server can't run here, or false. */
export const missing =
  installed === undefined &&
  "a real llama-server is tested where BOXMAKER_TEST_LLAMA names the folder that .ci/run installed it into";

/** The first line that a process prints; ends it if it doesn't get that far. */
async function firstLine(child: ChildProcess & { readonly stdout: Readable }): Promise<string> {
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`the process ended with ${child.exitCode} before it was ready`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.stdin?.end();
  child.kill("SIGTERM");
  await exited;
}

/** The server, its proxy, and the home whose `infer.sock` leads to them. */
export class RealServer implements AsyncDisposable {
  readonly home: TestHome;
  readonly #resources: AsyncDisposableStack;

  private constructor(home: TestHome, resources: AsyncDisposableStack) {
    this.home = home;
    this.#resources = resources;
  }

  /** @param settings llama.cpp's parameters, beside the model and the address */
  static async start(settings: Readonly<Record<string, number | boolean>>): Promise<RealServer> {
    await using resources = new AsyncDisposableStack();
    const home = resources.use(await TestHome.make());
    const server = spawn("python3", [SERVE, installed ?? "", JSON.stringify(settings)], { stdio: ["pipe", "pipe", "ignore"] });
    resources.defer(() => end(server));
    const url = await firstLine(server);
    const args = [INFERPROXY, "--listen", home.at("run/infer/infer.sock"), "--upstream", url];
    const proxy = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
    resources.defer(() => end(proxy));
    await firstLine(proxy);
    return new RealServer(home, resources.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }
}
