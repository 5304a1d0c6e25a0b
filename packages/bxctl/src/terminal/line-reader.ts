/** The owner's lines, one after another, whoever asks: chat and approvals read from the same reader, so that they stay in order. */

/** `end`: no line comes any more, now or later. `withdrawn`: the signal aborted first; the line that comes next is the next asker's. */
export type Line = { readonly kind: "line"; readonly text: string } | { readonly kind: "end" } | { readonly kind: "withdrawn" };

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Whether the line can be called back with the arrow keys. */
  readonly remember: boolean;
}

/** One question at a time. Disposing gives the terminal back as it was. */
export interface LineReader extends Disposable {
  /** Whether a person types. */
  readonly isTerminal: boolean;
  /** Shows `prompt` (where a person types) and waits for a line. */
  ask(prompt: string, options: AskOptions): Promise<Line>;
  /** Forgets what a person has typed before they were asked. Returns whether there was anything. Piped lines stay. */
  discardTyped(): Promise<boolean>;
}
