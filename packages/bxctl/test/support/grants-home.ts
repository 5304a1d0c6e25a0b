/** A home with a configuration and grants, for commands that need no brokerd. */
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPlaces } from "../../src/box/places.ts";
import type { GrantsCommand } from "../../src/grants/grants-command.ts";
import { memoryScreen } from "./memory-stream.ts";

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export class GrantsHome implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(config = 'home = ".."\n'): Promise<GrantsHome> {
    const home = new GrantsHome(await mkdtemp(join(tmpdir(), "bxctl-grants-")));
    for (const name of ["etc/grants", "audit"]) mkdirSync(join(home.path, name), { recursive: true });
    writeFileSync(join(home.path, "etc/brokerd.toml"), config);
    return home;
  }

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  /** Writes a grant of this id to a directory, `etc/grants` unless given. */
  grant(id: string, lines: readonly string[], constraints: readonly string[], directory = "etc/grants"): this {
    const text = [`id = "${id}"`, ...lines, "", "[constraints]", ...constraints, ""].join("\n");
    mkdirSync(this.at(directory), { recursive: true });
    writeFileSync(this.at(directory, `${id}.toml`), text);
    return this;
  }

  async run(command: (at: GrantsCommand) => Promise<number>, json = false): Promise<Ran> {
    const out = memoryScreen();
    const err = memoryScreen();
    const places = findPlaces({ home: this.path }, {});
    const status = await command({ places, json, out: out.screen, err: err.screen });
    const named = (text: string): string => text.replaceAll(this.path, "HOME");
    return { status, out: named(out.stream.text), err: named(err.stream.text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Notes can be read, example.com asks. */
export async function notesAndWeb(): Promise<GrantsHome> {
  return (await GrantsHome.make())
    .grant("notes", ['tool = "read_file"', 'mode = "auto"'], ['paths = ["/srv/notes"]'])
    .grant("web", ['tool = "http_fetch"', 'mode = "ask"', 'max_taint = "private"'], ['hosts = ["example.com"]']);
}
