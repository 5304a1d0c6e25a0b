/** Understands a few plain English requests. It is a list of patterns, not a model of a language. */
import { posix } from "node:path";

/** What the owner asks for. A `path` is as the owner wrote it, joined to the folder that they named, if any. */
export type Intent =
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "run"; readonly command: string }
  | { readonly kind: "fetch"; readonly url: string }
  | { readonly kind: "list"; readonly path: string | null }
  | { readonly kind: "other" };

/** Longer requests are none of the few. */
const MAX_CHARACTERS = 4096;

const POLITE_START = /^(?:(?:please|hello|hi|hey|now|then|can you|could you|would you|will you)\b[\s,!.]*)+/iu;
const POLITE_END = /[\s,]+(?:please|for me)[\s.!?]*$/iu;
const QUOTED = /"(?<double>[^"]*)"|“(?<curly>[^”]*)”|`(?<code>[^`]*)`|(?<=^|\s)'(?<single>[^']*)'(?=$|[\s.,;:!?])/u;
const IN_MY_NOTES =
  /(?:^|\s+)(?:(?:in|inside|from|into|to|of)\s+)?(?:my|the|your)\s+notes?(?:\s+(?:folder|directory))?(?=$|[\s.,;:!?])/iu;
const IN_FOLDER =
  /(?:^|\s+)(?:in|inside|from|to|into)\s+(?:the\s+)?(?:folder\s+|directory\s+)?(?<folder>\/[^\s"'`,;?!]*)[\s.!?]*$/iu;
const URL_ANYWHERE = /https?:\/\/[^\s"'<>`”]+/iu;
const PATH_ANYWHERE = /(?<=^|[\s"'`“(])\/[^\s"'`”,;:?!)]+/u;
const LISTED_THINGS = /\b(?:files?|notes?|folder|directory)\b/iu;

/** Words around a file's name that aren't it. */
const FILLERS: ReadonlySet<string> = new Set(
  "a an the my your me all new out to into in inside from of with containing saying file files note notes called named folder directory text contents".split(
    " ",
  ),
);

/** Finds out what a request asks for. */
export function parseIntent(request: string): Intent {
  const text = request.trim().replace(POLITE_START, "").replace(POLITE_END, "");
  const [, verb = "", rest = ""] = /^(\S+)\s*(.*)$/su.exec(text) ?? [];
  if (request.length > MAX_CHARACTERS) {
    return { kind: "other" };
  }
  return parseByVerb(verb.toLowerCase(), rest) ?? parseByContent(text);
}

function parseByVerb(verb: string, rest: string): Intent | undefined {
  switch (verb) {
    case "write":
    case "save":
    case "put":
    case "store":
      return parseWrite(rest, [TEXT_TO_FILE, FILE_WITH_TEXT, FILE_COLON_TEXT]);
    case "create":
    case "make":
      return parseWrite(rest, [FILE_WITH_TEXT, FILE_COLON_TEXT, TEXT_TO_FILE]);
    case "run":
    case "execute":
      return parseRun(rest);
    case "list":
    case "ls":
      return { kind: "list", path: PATH_ANYWHERE.exec(rest)?.[0] ?? null };
    case "read":
    case "show":
    case "open":
    case "print":
    case "cat":
    case "display":
    case "view":
      return URL_ANYWHERE.test(rest) ? undefined : (parseRead(rest) ?? parseList(rest));
    case "what":
    case "what's":
    case "which":
      return parseRead(rest.replace(/^(?:is|does|are)?\s*/iu, "")) ?? parseList(rest);
    default:
      return undefined;
  }
}

/** Without a verb that is known, a URL is to be fetched and an absolute path to be read. */
function parseByContent(text: string): Intent {
  const url = URL_ANYWHERE.exec(text)?.[0];
  if (url !== undefined) {
    return { kind: "fetch", url: withoutStops(url) };
  }
  const path = PATH_ANYWHERE.exec(text)?.[0];
  return path === undefined ? { kind: "other" } : { kind: "read", path: withoutStops(path) };
}

const TEXT_TO_FILE = /^(?<text>.+)\s(?:to|into|in)\s+(?<file>.+)$/su;
const FILE_WITH_TEXT = /^(?<file>.+?)\s+(?:with|containing|saying)\s+(?:the\s+)?(?:text\s+|words?\s+|contents?\s+)?(?<text>.+)$/isu;
const FILE_COLON_TEXT = /^(?:to\s+)?(?<file>.+?):\s+(?<text>.+)$/isu;

function parseWrite(rest: string, patterns: readonly RegExp[]): Intent | undefined {
  const quoted = QUOTED.exec(rest);
  if (quoted !== null) {
    const path = fileIn(rest.replace(quoted[0], " "));
    return path === undefined ? undefined : { kind: "write", path, text: inQuotes(quoted) };
  }
  const plain = rest.replace(IN_MY_NOTES, "");
  for (const pattern of patterns) {
    const groups = pattern.exec(plain)?.groups;
    const path = fileNamed(groups?.["file"] ?? "");
    if (path !== undefined) {
      return { kind: "write", path, text: groups?.["text"] ?? "" };
    }
  }
  return undefined;
}

function parseRun(rest: string): Intent | undefined {
  const quoted = QUOTED.exec(rest);
  const isWhole = quoted !== null && (quoted.groups?.["code"] !== undefined || quoted[0].length === withoutStops(rest).length);
  const command = isWhole
    ? inQuotes(quoted)
    : rest.replace(/^(?:the\s+)?(?:shell\s+)?command:?\s+/iu, "").replace(new RegExp(`${IN_MY_NOTES.source}\\s*$`, "iu"), "");
  return command.trim() === "" ? undefined : { kind: "run", command: command.trim() };
}

function parseRead(rest: string): Intent | undefined {
  const path = fileIn(rest);
  return path === undefined ? undefined : { kind: "read", path };
}

function parseList(rest: string): Intent | undefined {
  return LISTED_THINGS.test(rest) ? { kind: "list", path: PATH_ANYWHERE.exec(rest)?.[0] ?? null } : undefined;
}

/** The one file that `text` names, below the absolute folder that it names too. */
function fileIn(text: string): string | undefined {
  const plain = text.replace(IN_MY_NOTES, "");
  const folder = IN_FOLDER.exec(plain);
  const file = fileNamed(folder === null ? plain : plain.slice(0, folder.index));
  const base = folder?.groups?.["folder"];
  if (base === undefined || file === undefined) {
    return file ?? base;
  }
  return posix.join(base, file);
}

/** The one thing in quotes, or the one word that is no filler; undefined if there is none or more than one. */
function fileNamed(text: string): string | undefined {
  const quoted = QUOTED.exec(text);
  if (quoted !== null) {
    return inQuotes(quoted) || undefined;
  }
  const words = text.split(/[\s,;:?!]+/u).filter((word) => word !== "" && !FILLERS.has(word.toLowerCase()));
  const [word] = words;
  return words.length === 1 && word !== undefined ? withoutStops(word) : undefined;
}

function inQuotes(match: RegExpExecArray): string {
  return Object.values(match.groups ?? {}).find((group) => group !== undefined) ?? "";
}

/** Without what ends a sentence rather than a name. */
function withoutStops(text: string): string {
  return text.replace(/(?<=[^.\s])[\s.,;!?)]+$/u, "");
}
