/** A brokerd to measure: the program itself with the runner that refuses, so that an allowed call costs its two records and a run that fails at once. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { AbsPath } from "@boxmaker/proto";
import { brokerOf, Daemon } from "../../packages/brokerd/test/support/daemon.ts";
import { BoxFiles } from "../../packages/brokerd/test/support/rig.ts";

const CONFIG = `
[sessions]
per_minute = 100000
[limits]
connections = 4096
[runner]
runtime = "refusing"
`;

export class ServedBroker implements AsyncDisposable {
  readonly files: BoxFiles;
  readonly #daemon: Daemon;

  private constructor(files: BoxFiles, daemon: Daemon) {
    this.files = files;
    this.#daemon = daemon;
  }

  static async start(): Promise<ServedBroker> {
    const files = new BoxFiles();
    files.grant("notes", "read_file", "auto");
    files.grant("write", "write_file", "ask");
    const daemon = Daemon.serve(files, CONFIG);
    await daemon.ready;
    return new ServedBroker(files, daemon);
  }

  get socket(): AbsPath {
    return brokerOf(this.files);
  }

  /** Memory that it holds, in bytes; undefined where the system doesn't say. */
  get residentBytes(): number | undefined {
    const path = `/proc/${this.#daemon.child.pid}/status`;
    const kilobytes = existsSync(path) ? /^VmRSS:\s*(?<kb>\d+) kB$/mu.exec(readFileSync(path, "utf8"))?.groups?.["kb"] : undefined;
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  }

  /** Descriptors that it has open; undefined where the system doesn't say. */
  get descriptors(): number | undefined {
    const path = `/proc/${this.#daemon.child.pid}/fd`;
    return existsSync(path) ? readdirSync(path).length : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#daemon.kill("SIGTERM");
    await this.#daemon.ended;
    this.files[Symbol.dispose]();
  }
}
