/** The files, links and devices that the table of path cases is about, made anew below a folder of the test's own. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { bytesOf, type Case, cell, inputOf } from "./cases.ts";

/** Devices, where they can't be made. */
export class PlaceTree implements AsyncDisposable {
  readonly root: string;
  /** Rows of devices that couldn't be made: that takes root. */
  readonly missing: readonly string[];
  readonly #servers: AsyncDisposable[];

  private constructor(root: string, missing: readonly string[], servers: AsyncDisposable[]) {
    this.root = root;
    this.missing = missing;
    this.#servers = servers;
  }

  /** Not below /tmp, which a box has of its own. */
  static async make(rows: readonly Case[]): Promise<PlaceTree> {
    const root = realpathSync(mkdtempSync("/var/tmp/boxmaker-places-"));
    const missing: string[] = [];
    const servers: AsyncDisposable[] = [];
    for (const row of rows) {
      const path = bytesOf(inputOf(row).replaceAll("{F}", root));
      const value = cell(row, "why")
        .replace(/^[a-z]+: /u, "")
        .replaceAll("{F}", root);
      switch (cell(row, "tool")) {
        case "dir":
          mkdirSync(path, { recursive: true });
          break;
        case "file":
          writeFileSync(path, value);
          break;
        case "symlink":
          symlinkSync(value, path);
          break;
        case "hardlink":
          linkSync(value, path);
          break;
        case "fifo":
          if (spawnSync("mkfifo", [path.toString()]).status !== 0) throw new Error("no FIFO could be made");
          break;
        case "socket": {
          const server = createServer().listen(path.toString());
          await once(server, "listening");
          servers.push(server);
          break;
        }
        case "chr":
          if (spawnSync("mknod", [path.toString(), "c", ...value.split(":")]).status !== 0) missing.push(cell(row, "id"));
          break;
        default:
          throw new Error(`${cell(row, "id")}: no such kind of file`);
      }
    }
    return new PlaceTree(root, missing, servers);
  }

  at(path: string): string {
    return path.replaceAll("{F}", this.root);
  }

  /** Everything outside of what is granted, by its text: nothing of it may change. */
  outside(): string {
    return ["secret.txt", "notes2/c.txt", "note/n.txt", "ro/r.txt", "one.txt", "state/audit.db"]
      .map((name) => readFileSync(join(this.root, name), "utf8"))
      .join("|");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server[Symbol.asyncDispose]();
    rmSync(this.root, { recursive: true, force: true });
  }
}
