/** Which reader fits where the lines come from. */
import type { ProcessIo } from "../process-io.ts";
import type { Interrupts } from "./interrupts.ts";
import type { LineReader } from "./line-reader.ts";
import { PipedLines } from "./piped-lines.ts";
import { isCapableTerminal } from "./style.ts";
import { TypedLines } from "./typed-lines.ts";

/** @param prompts whether questions are shown: not to a script */
export function openLines({ stdin, stdout, env }: ProcessIo, interrupts: Interrupts, prompts: boolean): LineReader {
  const typed = stdin.isTTY === true && prompts;
  if (typed && isCapableTerminal(stdout, env)) return new TypedLines(stdin, stdout, interrupts);
  return new PipedLines(stdin, typed ? stdout : undefined);
}
