/** Stands in for systemd: a real datagram socket that says what it is told. */
import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

const PYTHON = "/usr/bin/python3";
const NOTIFY = "/usr/bin/systemd-notify";

/** Why there can be no such test here, or false. */
export const SKIPPED = !existsSync(NOTIFY)
  ? `needs ${NOTIFY}`
  : spawnSync(PYTHON, ["-c", "import socket; socket.recv_fds"]).status !== 0 && `needs ${PYTHON} 3.9 or newer`;

/** Prints each message on a line of its own. What comes with it is closed at once: that is what the sender's barrier waits for. */
const RECEIVER = `
import os, socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\\0" + name[1:] if name.startswith("@") else name)
print("bound", flush=True)
while True:
    data, fds, _, _ = socket.recv_fds(receiver, 4096, 4)
    for fd in fds: os.close(fd)
    text = data.decode()
    if text != "BARRIER=1": print(text.rstrip("\\n").replace("\\n", " "), flush=True)
`;

export class ServiceBus implements AsyncDisposable {
  /** The value of NOTIFY_SOCKET. */
  readonly socket: string;
  readonly messages: string[] = [];
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #folder: string;
  #wake = Promise.withResolvers<void>();

  private constructor(folder: string, socket: string) {
    this.#folder = folder;
    this.socket = socket;
    this.#child = spawn(PYTHON, ["-c", RECEIVER, socket], { stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.messages.push(line);
      this.#wake.resolve();
      this.#wake = Promise.withResolvers<void>();
    });
  }

  static async open(kind: "path" | "abstract"): Promise<ServiceBus> {
    const folder = await mkdtemp(join(tmpdir(), "boxmaker-notify-"));
    const bus = new ServiceBus(folder, kind === "path" ? join(folder, "notify") : `@boxmaker-test/${randomUUID()}`);
    await bus.until((messages) => messages[0] === "bound");
    bus.messages.shift();
    return bus;
  }

  /** Waits until the messages so far are as they should be. */
  async until(isEnough: (messages: readonly string[]) => boolean): Promise<readonly string[]> {
    while (!isEnough(this.messages)) await this.#wake.promise;
    return this.messages;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}
