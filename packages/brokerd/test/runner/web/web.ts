/** The tests' small internet: a network namespace with a name server, web servers and a certificate authority of its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TemporaryFolder, temporaryFolder } from "../temporary-folder.ts";
import { ADDRESSES } from "./places.ts";

const HOST_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const NAMED = "/etc/netns";
const DAYS = "2";

function isThere(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function must(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`expected ${program} ${args.join(" ")} to work: ${error?.message ?? stderr}`);
}

/** Why there can be no such thing here, or false. */
export function whyNoWeb(): string | false {
  if (process.getuid?.() !== 0) return "needs root, for a network namespace with addresses of its own";
  if (!isThere("openssl", "version")) return "needs openssl, for a certificate authority";
  if (!existsSync(HOST_CERTIFICATES)) return `needs ${HOST_CERTIFICATES}, which the tests' own takes the place of`;
  const probe = `boxmaker-probe-${randomBytes(4).toString("hex")}`;
  if (!isThere("ip", "netns", "add", probe)) return "needs ip, of iproute2, and the right to make network namespaces";
  const hasIPv6 = isThere("ip", "-n", probe, "address", "add", `${ADDRESSES.ipv6}/128`, "dev", "lo");
  must("ip", "netns", "delete", probe);
  return !hasIPv6 && "needs IPv6";
}

/** Lines of a program's output, one at a time. */
export interface Conversation {
  readonly child: ChildProcess;
  /** The next line; rejects when there is none any more. */
  next(): Promise<string>;
  say(line: string): void;
}

export function converse(program: string, args: readonly string[]): Conversation {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], cwd: "/" });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    next: async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`expected a line of ${program} ${args.join(" ")}`);
      return value;
    },
    say: (line) => void child.stdin.write(`${line}\n`),
  };
}

export interface Web extends AsyncDisposable {
  /** Its namespace, by name. */
  readonly name: string;
  /** The certificates that its clients trust. */
  readonly authority: string;
  /** A command line by which a program sees this network as its machine's own, name servers and certificates included. */
  within(...command: readonly string[]): readonly [string, ...string[]];
}

/** Makes a certificate for the tests' hosts, and the authority that signed it. */
function makeCertificates(folder: TemporaryFolder): void {
  const to = (name: string): string => folder.at(name);
  const subject = (name: string): string => `/CN=${name}`;
  const fresh = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  must("openssl", ...fresh, "-x509", "-days", DAYS, "-subj", subject("tests"), "-keyout", to("ca.key"), "-out", to("ca.pem"));
  must("openssl", ...fresh, "-subj", subject("example.com"), "-keyout", to("web.key"), "-out", to("web.csr"));
  writeFileSync(to("names"), "subjectAltName=DNS:*.example.com\n");
  const signer = ["-CA", to("ca.pem"), "-CAkey", to("ca.key"), "-CAcreateserial", "-extfile", to("names")];
  must("openssl", "x509", "-req", "-in", to("web.csr"), ...signer, "-days", DAYS, "-out", to("web.pem"));
}

export async function openWeb(): Promise<Web> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(temporaryFolder());
  makeCertificates(folder);
  const name = `boxmaker-${randomBytes(4).toString("hex")}`;
  must("ip", "netns", "add", name);
  undo.defer(() => must("ip", "netns", "delete", name));
  must("ip", "-n", name, "link", "set", "lo", "up");
  for (const address of Object.values(ADDRESSES)) {
    must("ip", "-n", name, "address", "add", `${address}/${address.includes(":") ? 128 : 32}`, "dev", "lo");
  }
  // Read by `ip netns exec`, and by podman for its containers in this namespace.
  mkdirSync(join(NAMED, name), { recursive: true });
  undo.defer(() => {
    rmSync(join(NAMED, name), { recursive: true });
    try {
      rmdirSync(NAMED);
    } catch {
      // Others have a namespace, too.
    }
  });
  writeFileSync(join(NAMED, name, "resolv.conf"), `nameserver ${ADDRESSES.names}\noptions timeout:2 attempts:2\n`);
  const authority = folder.at("ca.pem");
  const program = join(import.meta.dirname, "web-program.ts");
  const servers = converse("ip", ["netns", "exec", name, process.execPath, program, folder.at("web.key"), folder.at("web.pem")]);
  undo.defer(async () => {
    const exited = once(servers.child, "exit");
    if (servers.child.kill("SIGKILL")) await exited;
  });
  await servers.next();
  const owned = undo.move();
  const mounting = `mount --bind "$1" ${HOST_CERTIFICATES} && shift && exec "$@"`;
  return {
    name,
    authority,
    within: (...command) => ["ip", "netns", "exec", name, "/bin/sh", "-c", mounting, "sh", authority, ...command],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The tools image, but with the authority of the tests as the only one that it trusts: an image of the tests' own. */
export function imageThatTrusts(image: string, { authority, name }: Web): { readonly id: string; readonly remove: () => void } {
  using folder = temporaryFolder();
  writeFileSync(folder.at("ca.pem"), readFileSync(authority));
  writeFileSync(folder.at("Containerfile"), `FROM ${image.replace("sha256:", "")}\nCOPY ca.pem ${HOST_CERTIFICATES}\n`);
  const tag = `localhost/${name}:test`;
  const built = spawnSync("podman", ["build", "--quiet", "--pull=never", `--tag=${tag}`, folder.path], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(`expected podman to build an image: ${built.stderr}`);
  return { id: `sha256:${built.stdout.trim()}`, remove: () => must("podman", "rmi", "--force", tag) };
}
