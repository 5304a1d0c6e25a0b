/** What a grant may ask of one argument of a call. No regular expressions: their meaning is too easily got wrong. */
import { AbsPath, FetchUrl, holdsPath, SafeInteger, type ToolName, unreachable } from "@boxmaker/proto";
import { z } from "zod";

/**
 * All that is given must hold. `in`: one of these values; `prefix`: a beginning, by component for paths; `max`: a number at most this;
 * `maxlen`: at most so many UTF-8 bytes; `absent`: whether the argument was left out.
 */
export const Predicate = z
  .strictObject({
    in: z.array(z.string()).min(1, "expected at least one value").readonly().optional(),
    prefix: z.string().min(1, "expected a beginning of a value").optional(),
    max: SafeInteger.optional(),
    maxlen: SafeInteger.optional(),
    absent: z.boolean().optional(),
  })
  .refine((predicate) => Object.keys(predicate).length > 0, "expected one of in, prefix, max, maxlen, absent")
  .readonly();
export type Predicate = z.infer<typeof Predicate>;

/** How an argument's values are compared. */
export type ArgumentKind = "path" | "url" | "text";

/** One argument that a tool takes. */
export interface ArgumentShape {
  readonly kind: ArgumentKind;
  readonly required: boolean;
}

const REQUIRED_PATH = { kind: "path", required: true } as const;
const REQUIRED_TEXT = { kind: "text", required: true } as const;

/** Each tool's arguments by name, as a predicate sees them. */
export const ARGUMENT_SHAPES: Readonly<Record<ToolName, ReadonlyMap<string, ArgumentShape>>> = {
  read_file: new Map([["path", REQUIRED_PATH]]),
  write_file: new Map<string, ArgumentShape>([
    ["path", REQUIRED_PATH],
    ["content", REQUIRED_TEXT],
  ]),
  shell: new Map<string, ArgumentShape>([
    ["command", REQUIRED_TEXT],
    ["cwd", { kind: "path", required: false }],
  ]),
  http_fetch: new Map([["url", { kind: "url", required: true }]]),
};

/**
 * One spelling per meaning: a URL as it is fetched, with its default port and dot segments gone, so that `/public/../private` neither
 * passes for something below `/public/` nor slips past a rule about `/private`.
 */
function comparable(kind: ArgumentKind, value: string): string {
  return kind === "url" && URL.canParse(value) ? new URL(value).href : value;
}

function startsWith(kind: ArgumentKind, prefix: string, value: string): boolean {
  switch (kind) {
    case "path": {
      const parent = AbsPath.safeParse(prefix);
      const child = AbsPath.safeParse(value);
      return parent.success && child.success && holdsPath(parent.data, child.data);
    }
    case "url":
    case "text":
      return comparable(kind, value).startsWith(comparable(kind, prefix));
    default:
      return unreachable(kind);
  }
}

/** Whether the predicate holds for a value of canonical arguments; `undefined` is an argument that was left out, which only `absent` fits. */
export function holdsPredicate(predicate: Predicate, kind: ArgumentKind, value: string | undefined): boolean {
  if (predicate.absent !== undefined && predicate.absent !== (value === undefined)) return false;
  const { in: values, prefix, max, maxlen } = predicate;
  if (value === undefined) return values === undefined && prefix === undefined && max === undefined && maxlen === undefined;
  // No argument of today's tools is a number.
  if (max !== undefined) return false;
  if (values?.some((one) => comparable(kind, one) === comparable(kind, value)) === false) return false;
  if (prefix !== undefined && !startsWith(kind, prefix, value)) return false;
  return maxlen === undefined || Buffer.byteLength(value) <= maxlen;
}

/**
 * Why no call of this tool can ever fit the predicate, or `undefined` where one can.
 *
 * The reason is one printable line; the values in it are the owner's own.
 */
export function whyNeverHolds(predicate: Predicate, shape: ArgumentShape): string | undefined {
  const { in: values, prefix, max, maxlen, absent } = predicate;
  const wantsValue = values !== undefined || prefix !== undefined || max !== undefined || maxlen !== undefined;
  if (absent === true && shape.required) return "absent = true never holds: the tool needs this argument";
  if (absent === true && wantsValue) return "absent = true excludes every other condition";
  if (max !== undefined) return "max never holds: this argument isn't a number";
  if (prefix !== undefined && shape.kind === "path" && !AbsPath.safeParse(prefix).success)
    return "prefix never holds: expected an absolute path";
  if (prefix !== undefined && shape.kind === "url" && !FetchUrl.safeParse(prefix).success) {
    return "prefix never holds: expected the beginning of a URL up to a '/' of its path at least";
  }
  if (
    values !== undefined &&
    !values.some((value) => isPossible(value, shape.kind) && holdsPredicate(predicate, shape.kind, value))
  ) {
    return "in never holds: no value in it is one that the other conditions and the tool allow";
  }
  if (maxlen !== undefined && maxlen < shortest(shape.kind)) return "maxlen never holds: every value is longer";
  if (maxlen !== undefined && prefix !== undefined && Buffer.byteLength(prefix) > maxlen)
    return "maxlen never holds beside this prefix";
  return undefined;
}

function isPossible(value: string, kind: ArgumentKind): boolean {
  switch (kind) {
    case "path":
      return AbsPath.safeParse(value).success;
    case "url":
      return FetchUrl.safeParse(value).success;
    case "text":
      return value.isWellFormed();
    default:
      return unreachable(kind);
  }
}

/** Bytes of the shortest value there is. */
function shortest(kind: ArgumentKind): number {
  switch (kind) {
    case "path":
      return "/a".length;
    case "url":
      return "http://a/".length;
    case "text":
      return 0;
    default:
      return unreachable(kind);
  }
}
