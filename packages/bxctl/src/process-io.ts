/** What a command gets of the process it runs in, so that tests can run it in another. */
import type { Readable } from "node:stream";
import type { ReadStream } from "node:tty";

/** Where text goes. `columns` is there for a terminal. */
export interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Standard input: a terminal has `isTTY`, everything else doesn't. */
export type InputStream = ReadStream | (Readable & { readonly isTTY?: undefined });

export interface ProcessIo {
  readonly stdin: InputStream;
  readonly stdout: NodeJS.WritableStream & TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls `listener` on each SIGINT until disposed; without one, SIGINT ends the process. */
  readonly onInterrupt: (listener: () => void) => Disposable;
}

/** How a command ends: done; failed or denied; called in a way it doesn't understand. 10 and 20: what was asked about asks, or is denied. */
export type ExitStatus = 0 | 1 | 2 | 10 | 20;
