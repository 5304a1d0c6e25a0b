/** A call's arguments as an owner types them. */
import { canonicalJson, quoteText } from "@boxmaker/proto";

export type CallWords = { readonly kind: "ok"; readonly text: string } | { readonly kind: "usage"; readonly problem: string };

/**
 * The JSON text of the arguments: one word that is JSON already is taken as it is, as a model could write it; otherwise each word is
 * `name=value`.
 */
export function readCallWords(words: readonly string[]): CallWords {
  const [only = ""] = words;
  if (words.length === 1 && only.trimStart().startsWith("{")) return { kind: "ok", text: only };
  const values = new Map<string, string>();
  for (const word of words) {
    const equals = word.indexOf("=");
    const name = word.slice(0, Math.max(0, equals));
    if (!/^[a-z_]+$/u.test(name)) {
      return {
        kind: "usage",
        problem: `${quoteText(word)} is no argument: expected name=value, or all of them as one JSON object`,
      };
    }
    if (values.has(name)) return { kind: "usage", problem: `the argument ${quoteText(name)} is given twice` };
    values.set(name, word.slice(equals + 1));
  }
  return { kind: "ok", text: canonicalJson(Object.fromEntries(values)) };
}
