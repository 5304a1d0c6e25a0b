/** Statistics of a handful of runs. */

/**
 * The middle of `values`, or the mean of the two in the middle.
 *
 * @throws {RangeError} when there are none
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new RangeError("expected at least one value");
  return (lower + upper) / 2;
}

/**
 * The smallest of `values` that at least this share of them doesn't exceed.
 *
 * @param share more than 0 and at most 1
 * @throws {RangeError} when there are none
 */
export function quantile(values: readonly number[], share: number): number {
  const value = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1];
  if (value === undefined) throw new RangeError("expected at least one value, and a share of more than 0");
  return value;
}

/**
 * Runs the two in turn, `rounds` times after one round of warming up, so that a machine that gets slower slows both of them.
 *
 * @returns the median time of `subject` divided by that of `reference`
 */
export function compareInterleaved(subject: () => void, reference: () => void, rounds: number): number {
  const times: { readonly subject: number[]; readonly reference: number[] } = { subject: [], reference: [] };
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    subject();
    const between = performance.now();
    reference();
    const ended = performance.now();
    if (round === 0) continue;
    times.subject.push(between - started);
    times.reference.push(ended - between);
  }
  return median(times.subject) / median(times.reference);
}

/** As {@link compareInterleaved}, for what isn't done when it returns. */
export async function compareInterleavedAsync(
  subject: () => Promise<void>,
  reference: () => Promise<void>,
  rounds: number,
): Promise<number> {
  const times: { readonly subject: number[]; readonly reference: number[] } = { subject: [], reference: [] };
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    await subject();
    const between = performance.now();
    await reference();
    const ended = performance.now();
    if (round === 0) continue;
    times.subject.push(between - started);
    times.reference.push(ended - between);
  }
  return median(times.subject) / median(times.reference);
}
