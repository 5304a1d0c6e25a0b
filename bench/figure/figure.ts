/** What a bench measures. */

/** One number. A figure whose other side can't be had on this machine is left out, never guessed. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the value is compared with, in words; null for a plain count or time. */
  readonly against: string | null;
}
