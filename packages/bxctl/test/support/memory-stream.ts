/** A stream that keeps what is written. */
import type { TextStream } from "../../src/process-io.ts";
import { Screen } from "../../src/terminal/screen.ts";

export class MemoryStream implements TextStream {
  readonly isTTY: boolean;
  columns: number;
  text = "";

  /** @param columns of a terminal; 0: no terminal */
  constructor(columns = 0) {
    this.isTTY = columns > 0;
    this.columns = columns;
  }

  write(text: string): boolean {
    this.text += text;
    return true;
  }
}

export interface MemoryScreen {
  readonly screen: Screen;
  readonly stream: MemoryStream;
}

export function memoryScreen(columns = 0, env: Readonly<Record<string, string>> = {}): MemoryScreen {
  const stream = new MemoryStream(columns);
  return { screen: new Screen(stream, env), stream };
}
