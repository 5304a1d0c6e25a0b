/** Looks whether an image has all that a box needs and nothing that makes a box weaker. */
import { readFile } from "node:fs/promises";
import { escapeText, findActingAnnotation, quoteText, readForeignJson, sha256 } from "@boxmaker/proto";
import { z } from "zod";
import { findImage } from "./find-image.ts";
import { type ProgramEnd, runProgram } from "./host-program.ts";
import { TOOLKIT } from "./tools-image.ts";

/** One thing that was looked at. `found` is what the image said, as it said it. */
export interface ImageFinding {
  readonly what: string;
  readonly ok: boolean;
  readonly found: string;
}

/** `problem` is one line that ends in a runbook pointer: the image couldn't be looked at. */
export type ImageCheck =
  | { readonly kind: "checked"; readonly reference: string; readonly findings: readonly ImageFinding[] }
  | { readonly kind: "failed"; readonly problem: string };

export interface CheckOptions {
  /** What podman calls the image; default: the one that was built with this toolkit. */
  readonly image?: string | undefined;
  /** The bundled toolkit that should be in it; default: the one in the source tree. */
  readonly toolkit?: string;
}

const DEADLINE_MS = 2 * 60 * 1000;
const PROGRAMS = [
  "awk",
  "cat",
  "cmp",
  "cp",
  "curl",
  "diff",
  "find",
  "grep",
  "gzip",
  "head",
  "ls",
  "mv",
  "node",
  "sed",
  "sh",
  "sort",
  "tar",
  "tr",
  "wc",
  "xargs",
] as const;
const OLDEST_NODE = 24;
/** The first that takes a proxy by the path of its socket: https://curl.se/docs/manpage.html#-x */
const OLDEST_CURL = [7, 84] as const;

/** One line of `name=value` for each thing, whatever fails. */
const LOOK = `
say() { printf '%s=%s\\n' "$1" "$(printf '%s' "$2" | tr '\\n' ' ')"; }
say programs "$(for p in ${PROGRAMS.join(" ")}; do test -x "/usr/bin/$p" || test -x "/bin/$p" || echo "$p"; done)"
say node "$(/usr/bin/node --version 2>&1 | head -n 1)"
say curl "$(curl --version 2>&1 | head -n 1)"
say toolkit "$(sha256sum < /opt/boxmaker/toolkit.mjs | cut -c 1-64)"
say certificates "$(grep -c 'BEGIN CERTIFICATE' /etc/ssl/certs/ca-certificates.crt)"
say set-id "$(find / -xdev -perm /6000 -type f 2> /dev/null | head -n 1)"
say writable "$(find / -xdev -perm -0002 -not -type l -not -path /tmp 2> /dev/null | head -n 1)"
`;

/** Of podman's answer about one image what is needed here. */
const Inspected = z.tuple([
  z.object({
    Id: z.string().regex(/^(?:sha256:)?[0-9a-f]{64}$/u),
    Annotations: z.record(z.string(), z.string()).nullish(),
    Config: z.object({
      Entrypoint: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    }),
  }),
]);

function failed(problem: string): { readonly kind: "failed"; readonly problem: string } {
  return { kind: "failed", problem: `${problem}; see docs/runbook.md#image-check-failed` };
}

function problemOf(end: Exclude<ProgramEnd, { kind: "ok" }>): string {
  return end.kind === "absent" ? 'the program "podman" is missing: install the package of that name' : quoteText(end.problem);
}

async function look(reference: string): Promise<ProgramEnd> {
  const args = [
    "run",
    "--rm",
    "--pull=never",
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--ulimit=nofile=256:256",
    "--ulimit=nproc=256:256",
    "--user=65534:65534",
    "--entrypoint=",
    "--unsetenv-all",
    "--env=PATH=/usr/bin:/bin",
    "--image-volume=ignore",
    "--no-healthcheck",
    reference,
    "/bin/sh",
    "-c",
    LOOK,
  ];
  const first = await runProgram("podman", args, DEADLINE_MS);
  // crun can't run a container on a hybrid cgroup machine, runc can.
  return first.kind === "failed" ? await runProgram("podman", ["--runtime=runc", ...args], DEADLINE_MS) : first;
}

function isAtLeast(text: string, [major, minor]: readonly [number, number]): boolean {
  const version = /^\D*(?<major>\d{1,6})\.(?<minor>\d{1,6})/u.exec(text)?.groups;
  if (version === undefined) return false;
  const found = Number(version["major"]);
  return found > major || (found === major && Number(version["minor"]) >= minor);
}

function judgeFiles(said: ReadonlyMap<string, string>, toolkitHash: string): readonly ImageFinding[] {
  const of = (name: string): string => said.get(name) ?? "";
  const finding = (what: string, name: string, isGood: (found: string) => boolean): ImageFinding => ({
    what,
    ok: said.has(name) && isGood(of(name)),
    found: of(name),
  });
  return [
    finding(`every program of a box: ${PROGRAMS.join(" ")}`, "programs", (missing) => missing === ""),
    finding(`/usr/bin/node is Node ${OLDEST_NODE} or later`, "node", (version) => isAtLeast(version, [OLDEST_NODE, 0])),
    finding(
      `curl is ${OLDEST_CURL.join(".")} or later`,
      "curl",
      (version) => version.startsWith("curl ") && isAtLeast(version, OLDEST_CURL),
    ),
    finding("/opt/boxmaker/toolkit.mjs is this Boxmaker's toolkit", "toolkit", (hash) => hash === toolkitHash),
    finding("certificates of public authorities", "certificates", (count) => Number(count) > 0),
    finding("no program with a set-id mode", "set-id", (path) => path === ""),
    finding("nothing but /tmp that everybody may write", "writable", (path) => path === ""),
  ];
}

/** Runs the image once, without network and rights, and says what of it is as it has to be. Takes a second; never throws. */
export async function checkImage({ image, toolkit = TOOLKIT }: CheckOptions): Promise<ImageCheck> {
  let toolkitHash: string;
  try {
    toolkitHash = sha256(await readFile(toolkit));
  } catch {
    // Missing or unreadable: there is nothing to compare with.
    return failed(`the toolkit ${quoteText(toolkit)} can't be read: build it first`);
  }
  const wanted = image ?? (await findImage(toolkit));
  if (wanted === undefined) return failed("podman has no tools image with this toolkit: make one by `boxmaker image build`");
  if (wanted.startsWith("-")) return failed(`${quoteText(wanted)} is no name of an image`);
  const inspected = await runProgram("podman", ["image", "inspect", wanted], DEADLINE_MS);
  if (inspected.kind !== "ok") return failed(`the image ${quoteText(wanted)}: ${problemOf(inspected)}`);
  const reading = readForeignJson(inspected.stdout);
  const answer = Inspected.safeParse(reading.kind === "value" ? reading.value : undefined);
  if (!answer.success) return failed(`podman's answer about the image ${quoteText(wanted)} is of another form than expected`);
  const [{ Id, Config, Annotations }] = answer.data;
  const acting = findActingAnnotation(Annotations ?? {});
  if (acting !== undefined) {
    // To run it for a look would already do what it says.
    return failed(`the image ${quoteText(wanted)}: its annotation ${quoteText(acting)} could tell the OCI runtime what to do`);
  }
  const reference = `sha256:${Id.replace(/^sha256:/u, "")}`;
  const looked = await look(reference);
  if (looked.kind !== "ok") return failed(`the image ${quoteText(wanted)} can't be run: ${problemOf(looked)}`);
  const said = new Map(
    looked.stdout.split("\n").flatMap((line): [string, string][] => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()]];
    }),
  );
  const entrypoint = Config.Entrypoint?.join(" ") ?? "";
  const volumes = Object.keys(Config.Volumes ?? {}).join(" ");
  return {
    kind: "checked",
    reference,
    findings: [
      ...judgeFiles(said, toolkitHash),
      { what: "no entry point: a box names its own program", ok: entrypoint === "", found: entrypoint },
      { what: "no volumes: they would be places to write that no grant gave", ok: volumes === "", found: volumes },
    ],
  };
}

/** What the command prints of it; `status` is 1 when the image isn't as it has to be. */
export function showImageCheck(
  check: ImageCheck,
  asJson: boolean,
): { readonly output: string; readonly problems: readonly string[]; readonly status: 0 | 1 } {
  const isGood = check.kind === "checked" && check.findings.every(({ ok }) => ok);
  const status = isGood ? 0 : 1;
  if (asJson) return { output: `${escapeText(JSON.stringify(check))}\n`, problems: [], status };
  if (check.kind === "failed") return { output: "", problems: [check.problem], status };
  const lines = check.findings.map(({ what, ok, found }) =>
    ok ? `ok      ${what}` : `FAILED  ${what}${found === "" ? "" : `: found ${quoteText(found)}`}`,
  );
  const problems = isGood ? [] : [`the image ${check.reference} isn't as it has to be; see docs/runbook.md#image-check-failed`];
  return { output: `${check.reference}\n${lines.map((line) => `  ${line}\n`).join("")}`, problems, status };
}
