/** Texts that stand for all texts which the same predicates hold for: a predicate can't tell two of one kind apart. */
import type { Predicate } from "../rules/predicate.ts";

/** Characters to lengthen a text by that mean the same everywhere; the first one that no predicate knows is taken. */
const FILLERS = "~_zqxjkvw0123456789ZQXJKVWabcdefghilmnoprstuy".split("");

/** More lengths than these are not told apart for one argument: it would take many grants that each count bytes. */
const MAX_LENGTHS = 8;

/** A character that stands in none of the texts. */
export function fillerFor(texts: readonly string[]): string {
  return FILLERS.find((filler) => !texts.some((text) => text.includes(filler))) ?? "~";
}

/** Every value and beginning that the predicates name. */
export function namedTexts(predicates: readonly Predicate[]): readonly string[] {
  return predicates.flatMap(({ in: values = [], prefix }) => [...values, ...(prefix === undefined ? [] : [prefix])]);
}

/** The beginning, filled up to the length in bytes; as it is where it's longer. */
function fillUp(text: string, bytes: number, filler: string): string {
  return text + filler.repeat(Math.max(0, bytes - Buffer.byteLength(text)));
}

/**
 * One text of each kind: each named value, each named beginning with something behind it, something else, and all of these at and
 * beyond each length that is counted, `maxBytes` at most.
 *
 * @param other a text that no predicate names, to begin with where nothing else does
 */
export function sampleTexts(predicates: readonly Predicate[], other: string, maxBytes: number): readonly string[] {
  const named = namedTexts(predicates);
  const filler = fillerFor(named);
  const lengths = [...new Set(predicates.flatMap(({ maxlen }) => (maxlen === undefined ? [] : [maxlen])))]
    .toSorted((a, b) => a - b)
    .slice(0, MAX_LENGTHS)
    .flatMap((length) => [length, length + 1])
    .filter((length) => length <= maxBytes);
  const beginnings = [other, ...named].map((text) => text + (text === other ? "" : filler));
  const filled = beginnings.flatMap((text) => lengths.map((length) => fillUp(text, length, filler)));
  return [...new Set([other, ...named, ...beginnings, ...filled])];
}
