/**
 * Makes the tools image from this machine's Debian packages and Node, without a container registry. The same packages, Node and
 * toolkit give the same image id.
 */
import { access, mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quoteText } from "@boxmaker/proto";
import { findImage } from "./find-image.ts";
import { type ProgramEnd, runProgram } from "./host-program.ts";
import { furnishRoot, PACKAGES } from "./image-root.ts";
import { imageName, TOOLKIT } from "./tools-image.ts";

export interface BuildOptions {
  /** The bundled toolkit; default: the one in the source tree. */
  readonly toolkit?: string;
  /** The Node that the image gets; default: the one that runs this. */
  readonly node?: string;
}

/** `reference` is `sha256:…`, the image's id. `problem` is one line that ends in a runbook pointer. */
export type BuildResult =
  | { readonly kind: "built"; readonly reference: string }
  | { readonly kind: "failed"; readonly problem: string };

const DOWNLOAD_DEADLINE_MS = 15 * 60 * 1000;
const STEP_DEADLINE_MS = 5 * 60 * 1000;
/** Not /tmp, which is often in memory: half a gigabyte is needed for a moment. */
const WORKPLACE = "/var/tmp/boxmaker-image-";
const APT = "/etc/apt";

/** Every time in the image, so that two builds are equal. */
const TIME = 0;
/** Readable by the uid that a box runs as, whatever umask this is run under; nothing set-id, nothing that others may write. */
const TAR_MODE = "--mode=u+rw,go+r,a+X,go-w,a-s";
const TAR_ORDER = [
  "--sort=name",
  `--mtime=@${TIME}`,
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--format=posix",
  "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
] as const;
const CONTAINERFILE = "FROM scratch\nADD rootfs.tar /\n";

function failed(problem: string): { readonly kind: "failed"; readonly problem: string } {
  return { kind: "failed", problem: `${problem}; see docs/runbook.md#image-build-failed` };
}

type Step = { readonly kind: "ok" } | { readonly kind: "failed"; readonly problem: string };

function judge(program: string, end: ProgramEnd): Step {
  switch (end.kind) {
    case "ok":
      return { kind: "ok" };
    case "absent":
      return failed(`the program "${program}" is missing: install the package of that name`);
    case "failed":
      return failed(`${program} failed: ${quoteText(end.problem)}`);
    default:
      return end satisfies never;
  }
}

/** Builds the image. Takes about 20 seconds and needs the package mirrors; the outcome is never thrown. */
export async function buildImage({ toolkit = TOOLKIT, node = process.execPath }: BuildOptions): Promise<BuildResult> {
  try {
    await access(toolkit);
  } catch {
    // Missing or unreadable: either way there is nothing to put in.
    return failed(`the toolkit ${quoteText(toolkit)} can't be read: build it first`);
  }
  for (const program of ["podman", "mmdebstrap", "tar"]) {
    const found = judge(program, await runProgram(program, ["--version"], STEP_DEADLINE_MS));
    if (found.kind === "failed") return found;
  }
  try {
    await using workplace = await mkdtempDisposable(WORKPLACE);
    return await buildIn(workplace.path, toolkit, node);
  } catch (error) {
    // The environment's: no space, no permission. Nothing was tagged yet.
    return failed(quoteText(error instanceof Error ? error.message : "unknown error"));
  }
}

async function buildIn(directory: string, toolkit: string, node: string): Promise<BuildResult> {
  const suite = await findSuite();
  const sources = await findSources();
  if (suite === undefined || sources.length === 0) return failed("this machine has no Debian release name or no apt sources");
  const packages = join(directory, "packages.tar");
  const root = join(directory, "root");
  const context = join(directory, "context");
  await mkdir(root);
  await mkdir(context);
  const place = [`--file=${join(context, "rootfs.tar")}`, `--directory=${root}`];
  const name = await imageName(toolkit);
  const steps: readonly (() => Promise<Step>)[] = [
    async () => {
      const args = ["--quiet", "--variant=extract", `--include=${PACKAGES.join(",")}`, suite, packages, ...sources];
      return judge("mmdebstrap", await runProgram("mmdebstrap", args, DOWNLOAD_DEADLINE_MS));
    },
    // Device nodes can't be made without root, and the sandbox brings its own.
    () => tar("--extract", "--no-same-owner", "--exclude=./dev/*", `--file=${packages}`, `--directory=${root}`),
    async () => {
      await furnishRoot(root, node, toolkit);
      await writeFile(join(context, "Containerfile"), CONTAINERFILE);
      return { kind: "ok" };
    },
    () => tar("--create", ...TAR_ORDER, TAR_MODE, "--exclude=./tmp", ...place, "."),
    // Its mode is the one that a sandbox's own /tmp gets, and every uid writes there.
    () => tar("--append", ...TAR_ORDER, "--mode=1777", "--no-recursion", ...place, "./tmp"),
    async () => {
      const args = ["build", "--quiet", `--timestamp=${TIME}`, "--pull=never", `--tag=${name}`, context];
      return judge("podman", await runProgram("podman", args, STEP_DEADLINE_MS));
    },
  ];
  for (const step of steps) {
    const end = await step();
    if (end.kind === "failed") return end;
  }
  const reference = await findImage(toolkit);
  return reference === undefined ? failed("podman doesn't have the image that it built") : { kind: "built", reference };
}

async function tar(...args: readonly string[]): Promise<Step> {
  return judge("tar", await runProgram("tar", args, STEP_DEADLINE_MS));
}

async function findSuite(): Promise<string | undefined> {
  try {
    return /^VERSION_CODENAME=([a-z]+)$/mu.exec(await readFile("/etc/os-release", "utf8"))?.[1];
  } catch {
    // No such file: not a system that we know.
    return undefined;
  }
}

/** The files with the apt sources of this machine. */
async function findSources(): Promise<readonly string[]> {
  const found: string[] = [];
  try {
    const main = join(APT, "sources.list");
    if (/^deb /mu.test(await readFile(main, "utf8"))) found.push(main);
  } catch {
    // Newer systems have the directory only.
  }
  try {
    const directory = join(APT, "sources.list.d");
    const names = (await readdir(directory)).filter((name) => /\.(?:list|sources)$/u.test(name)).sort();
    found.push(...names.map((name) => join(directory, name)));
  } catch {
    // Older systems have the file only.
  }
  return found;
}
