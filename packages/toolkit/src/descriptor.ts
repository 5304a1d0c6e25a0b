/** An open file that closes itself. */
import { closeSync, fstatSync, openSync, type Stats } from "node:fs";

/** O_PATH of Linux (the same on x86-64 and arm64), which Node doesn't name: a handle to whatever is there, without opening it. */
const O_PATH = 0o10000000;

/** An open descriptor. Use it with `using`. */
export class Descriptor implements Disposable {
  readonly number: number;

  /** @throws {Error} the system's error, with a `code` */
  constructor(path: string, flags: number, mode?: number) {
    this.number = openSync(path, flags, mode);
  }

  /** A handle to what is at `path`: a directory to walk on from, or a file, link, FIFO or device to look at. Follows no final link. */
  static handle(path: string, noFollow: number): Descriptor {
    return new Descriptor(path, O_PATH | noFollow);
  }

  /** The path by which this very file is reached, whatever its name is by now. */
  get self(): string {
    return `/proc/self/fd/${this.number}`;
  }

  /** The path of an entry of this directory: what openat(2) would open. */
  entry(name: string): string {
    return `${this.self}/${name}`;
  }

  stat(): Stats {
    return fstatSync(this.number);
  }

  [Symbol.dispose](): void {
    closeSync(this.number);
  }
}
