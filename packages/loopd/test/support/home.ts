/** A box's home of one test, in a folder that is removed after it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, readConfig } from "../../src/config/config.ts";

export class TestHome implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<TestHome> {
    const home = new TestHome(await mkdtemp(join(tmpdir(), "loopd-")));
    for (const folder of ["etc", "run", "run/infer", "run/broker", "memory"]) {
      await mkdir(home.at(folder), { mode: 0o700 });
    }
    return home;
  }

  at(place: string): string {
    return join(this.path, place);
  }

  /** Writes etc/loopd.toml with `home` and these lines, and returns its path. */
  async writeConfig(toml = ""): Promise<string> {
    const path = this.at("etc/loopd.toml");
    await writeFile(path, `home = ".."\n${toml}`);
    return path;
  }

  async config(toml = ""): Promise<Config> {
    const reading = await readConfig(await this.writeConfig(toml));
    if (reading.kind === "invalid") throw new Error(reading.problem);
    return reading.config;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true });
  }
}
