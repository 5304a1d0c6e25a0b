/**
 * Gives the property tests the same random values in every run, so that a change that passed the gate passes it again. New values are
 * looked for on purpose: `BOXMAKER_SEED=random npm test -- PATTERN`; fast-check says the seed of a failure, and `BOXMAKER_SEED=SEED`
 * tries it again.
 */
import fc from "fast-check";

const DEFAULT_SEED = 20_261_130;

/** Undefined: another one in each run. */
function seedOf(wish: string | undefined): number | undefined {
  if (wish === "random") return undefined;
  const seed = wish === undefined ? DEFAULT_SEED : Number(wish);
  if (!Number.isSafeInteger(seed)) throw new Error(`BOXMAKER_SEED is ${JSON.stringify(wish)}: expected a whole number or "random"`);
  return seed;
}

const seed = seedOf(process.env["BOXMAKER_SEED"]);
if (seed !== undefined) fc.configureGlobal({ seed });
