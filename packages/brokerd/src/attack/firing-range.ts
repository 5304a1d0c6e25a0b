/** The place of one run of attacks: bait, and the runner's own folder, all gone afterwards. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AbsPath } from "@boxmaker/proto";
import { isAlive } from "./host-processes.ts";

/** Not in /tmp, which boxes have one of their own of. */
const PARENT = "/var/tmp";
/** Says which process made it. */
const NAMED = /^boxmaker-attack-(?<process>[1-9][0-9]*)-/u;
const RANDOM_BYTES = 8;
const BAIT = "boxmaker-bait-";

/** A grep pattern for every text that {@link FiringRange.secret} makes, and not for itself. */
export const SECRET_PATTERN = `${BAIT}[0-9a-f]\\{${RANDOM_BYTES * 2}\\}`;

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}

export class FiringRange implements AsyncDisposable {
  readonly path: AbsPath;
  readonly #owned = new AsyncDisposableStack();

  private constructor(path: AbsPath) {
    this.path = path;
    this.#owned.defer(() => rmSync(path, { recursive: true, force: true }));
  }

  /** @throws the system's errors: without a place nothing can be tried */
  static open(): FiringRange {
    return new FiringRange(AbsPath.parse(realpathSync(mkdtempSync(`${PARENT}/boxmaker-attack-${process.pid}-`))));
  }

  /** Those of this user that were left by attacks which couldn't end by themselves; they end as any other. */
  static left(): readonly FiringRange[] {
    return readdirSync(PARENT)
      .filter((name) => {
        const maker = NAMED.exec(name)?.groups?.["process"];
        return maker !== undefined && !isAlive(Number(maker)) && isOwnFolder(join(PARENT, name));
      })
      .map((name) => new FiringRange(AbsPath.parse(realpathSync(join(PARENT, name)))));
  }

  /** The path of something in it. */
  at(name: string): AbsPath {
    return AbsPath.parse(`${this.path}/${name}`);
  }

  /** A random text that nobody can say who hasn't read it. */
  secret(): string {
    return `${BAIT}${randomBytes(RANDOM_BYTES).toString("hex")}`;
  }

  /** Makes a folder with all around it. */
  folder(name: string): AbsPath {
    mkdirSync(this.at(name), { recursive: true });
    return this.at(name);
  }

  /** Makes a file with a secret in it, and the folders around it. Returns the secret. */
  bait(name: string): string {
    const secret = this.secret();
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), `${secret}\n`);
    return secret;
  }

  /** Has a secret stand where the host's other programs see this one's command line. */
  nameProcess(): string {
    const secret = this.secret();
    const { title } = process;
    process.title = secret;
    this.#owned.defer(() => {
      process.title = title;
    });
    return secret;
  }

  /** Has something ended with the range, before its files are removed. */
  defer(end: () => void | Promise<void>): void {
    this.#owned.defer(end);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
