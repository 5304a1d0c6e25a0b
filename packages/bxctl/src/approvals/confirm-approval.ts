/** Asking once, at a terminal, whether what has just been shown is to run. */
import type { ProcessIo } from "../process-io.ts";
import { Interrupts } from "../terminal/interrupts.ts";
import { openLines } from "../terminal/open-lines.ts";

/**
 * Asks and waits for a line: only `y` or `yes` is one that agrees. What was typed before doesn't count. It must not reject; once `signal`
 * aborts, nobody has agreed.
 */
export type Confirm = (prompt: string, signal: AbortSignal) => Promise<boolean>;

/** Undefined where no person sees what is shown and can answer it. Ctrl-C doesn't agree. */
export function confirmAtTerminal(io: ProcessIo): Confirm | undefined {
  if (io.stdin.isTTY !== true || io.stdout.isTTY !== true) return undefined;
  return async (prompt, signal) => {
    const interrupts = new Interrupts();
    const left = new AbortController();
    using _signals = io.onInterrupt(() => interrupts.raise());
    using _left = interrupts.listen(() => left.abort());
    using lines = openLines(io, interrupts, true);
    await lines.discardTyped();
    const line = await lines.ask(prompt, { signal: AbortSignal.any([signal, left.signal]), remember: false });
    return line.kind === "line" && /^y(?:es)?$/iu.test(line.text);
  };
}
