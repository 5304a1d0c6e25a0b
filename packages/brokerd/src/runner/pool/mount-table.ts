/** What the kernel says is mounted: in a box, and on the host. */
import { readFileSync } from "node:fs";
import type { AbsPath } from "@boxmaker/proto";

/** One mount as its process sees it. */
export interface KernelMount {
  readonly at: string;
  readonly readOnly: boolean;
  /** The whole line: two mounts at one place differ in it. */
  readonly line: string;
}

const FIELD_AT = 4;
const FIELD_OPTIONS = 5;
/** The kernel writes blanks and backslashes of a path as `\ooo`. */
const ESCAPED = /\\(?<octal>[0-7]{3})/gu;

function unescapeField(field: string): string {
  return field.replace(ESCAPED, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Reads a table in the form of `/proc/PID/mountinfo`. */
export function parseMountTable(text: string): readonly KernelMount[] {
  return text.split("\n").flatMap((line) => {
    const fields = line.split(" ");
    const [at, options] = [fields[FIELD_AT], fields[FIELD_OPTIONS]];
    if (at === undefined || options === undefined) return [];
    return [{ at: unescapeField(at), readOnly: options.split(",").includes("ro"), line }];
  });
}

/**
 * The mounts that a process sees. The kernel takes one away, without a word, when what it was mounted on is renamed over or removed
 * in another mount namespace, the host's included.
 *
 * @throws {Error} when the process is gone
 */
export function mountTable(process: number | "self"): readonly KernelMount[] {
  return parseMountTable(readFileSync(`/proc/${process}/mountinfo`, "utf8"));
}

/** The host's mounts at these paths and below them, as one text: another text means that something was mounted or unmounted there. */
export function hostMountsBelow(paths: readonly AbsPath[]): string {
  const isBelow = (at: string): boolean => paths.some((path) => at === path || at.startsWith(`${path}/`));
  return mountTable("self")
    .filter(({ at }) => isBelow(at))
    .map(({ line }) => line)
    .join("\n");
}
