/** What a fetch in a bubblewrap box needs of the host beside its /usr: a curl that can do it, certificates, and name servers. */
import { lstatSync, realpathSync } from "node:fs";
import { AbsPath } from "@boxmaker/proto";
import { runCommand } from "../host-command.ts";
import type { HostFile } from "./bubblewrap-arguments.ts";

/** Where the distributions' curl looks for the certificates that it trusts. */
const CERTIFICATES: readonly AbsPath[] = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
].map((path) => AbsPath.parse(path));
const RESOLVER = AbsPath.parse("/etc/resolv.conf");

const DEADLINE_MS = 10_000;
/** The first curl that connects to a SOCKS proxy by a Unix socket. */
const NEEDED = { major: 7, minor: 84 } as const;
const VERSION = /^curl (?<major>\d{1,4})\.(?<minor>\d{1,4})\./u;

function findFile(path: AbsPath): HostFile | null {
  try {
    const source = AbsPath.parse(realpathSync.native(path));
    return lstatSync(source).isFile() ? { path, source } : null;
  } catch {
    // It isn't there, or leads nowhere: the box goes without.
    return null;
  }
}

/** The bundles of certificates that this machine has. */
export function findCertificates(): readonly HostFile[] {
  return CERTIFICATES.flatMap((path) => findFile(path) ?? []);
}

/** The file that says which name servers there are, or null where there is none. */
export function findResolver(): HostFile | null {
  return findFile(RESOLVER);
}

/** Why the curl of this machine's /usr can't fetch, or null where it can. */
export async function findCurlProblem(curl: string): Promise<string | null> {
  const result = await runCommand(curl, ["-q", "--version"], DEADLINE_MS);
  if (result.kind === "failed") return `${curl}: ${result.problem}`;
  const { major, minor } = VERSION.exec(result.stdout)?.groups ?? {};
  if (result.status !== 0 || major === undefined || minor === undefined) return `${curl} doesn't say its version`;
  const isNew = Number(major) > NEEDED.major || (Number(major) === NEEDED.major && Number(minor) >= NEEDED.minor);
  return isNew ? null : `${curl} is version ${major}.${minor}, which can't fetch by the proxy's socket`;
}
