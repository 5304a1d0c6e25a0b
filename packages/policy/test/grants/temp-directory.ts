/** A grants directory on the disk, and a clock that moves only when somebody sleeps. */
import assert from "node:assert/strict";
import { lstatSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@boxmaker/edge/log";
import { AbsPath } from "@boxmaker/proto";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { type GrantSet, GrantStore, type GrantStoreOptions } from "../../src/grants/grant-store.ts";

/**
 * A clock far ahead of the file system's, so that nothing looks freshly changed, whose sleeps pass at once. `onSleep` runs in the
 * middle of each: what happens there happens while the store waits.
 */
export class TestClock implements Clock {
  time: number;
  readonly slept: number[] = [];
  onSleep: (count: number) => void = () => undefined;
  #monotonic = 0;

  constructor(time: number = Date.UTC(2100, 0, 1)) {
    this.time = time;
  }

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#monotonic += ms;
    this.time += ms;
    this.slept.push(ms);
    this.onSleep(this.slept.length);
  }
}

/** A directory that is removed with everything in it at the end of its scope. */
export class TempDirectory implements Disposable {
  readonly path: AbsPath;

  constructor() {
    this.path = AbsPath.parse(realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-grants-"))));
  }

  /** Writes a file that the owner alone may write. */
  write(name: string, text: string | Uint8Array): string {
    const path = join(this.path, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Writes a read_file grant of its own folder. */
  writeGrant(id: string, extra = ""): string {
    return this.write(`${id}.toml`, grantText(id, `/srv/${id}`, extra));
  }

  store(options: Partial<GrantStoreOptions> = {}): GrantStore {
    return new GrantStore({
      directory: this.path,
      forbidden: [AbsPath.parse("/home/box/run")],
      clock: new TestClock(),
      ...options,
    });
  }

  /** Sets a file's mtime, which leaves a new ctime behind. */
  touch(name: string, at: Date): void {
    utimesSync(join(this.path, name), at, at);
  }

  /**
   * Changes a file again until its ctime moves. The kernel's clock for it may tick only every few milliseconds; a store with a real
   * clock never reads a file that changed so lately.
   */
  untilStampChanges(name: string, change: (path: string, mtime: Date) => void): void {
    const path = join(this.path, name);
    const before = lstatSync(path, { bigint: true });
    do change(path, before.mtime);
    while (lstatSync(path, { bigint: true }).ctimeNs === before.ctimeNs);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The ids of a valid set; throws with the problems of an invalid one. */
export function idsOf(set: GrantSet): readonly string[] {
  return set.kind === "valid" ? set.grants.map(({ grant }) => grant.id) : assert.fail(JSON.stringify(set.problems));
}

/** `file:line: problem` of each problem, with the name of the file only. */
export async function problemsOf(store: GrantStore): Promise<readonly string[]> {
  const set = await store.current();
  if (set.kind === "valid") return [];
  return set.problems.map(({ file, line, problem }) => `${file.slice(file.lastIndexOf("/") + 1)}:${line}: ${problem}`);
}

/** The disk, with a count of the files that are read. */
export class CountingFiles implements GrantFiles {
  readonly reads: string[] = [];
  readonly look = realGrantFiles.look;
  readonly list = realGrantFiles.list;
  readonly realPath = realGrantFiles.realPath;
  onRead: (path: string) => void = () => undefined;

  async read(path: string, stamp: Parameters<GrantFiles["read"]>[1]): ReturnType<GrantFiles["read"]> {
    this.reads.push(path);
    this.onRead(path);
    return realGrantFiles.read(path, stamp);
  }
}

export function grantText(id: string, path: string, extra = ""): string {
  return `id = "${id}"\ntool = "read_file"\nmode = "auto"\n${extra}[constraints]\npaths = ["${path}"]\n`;
}
