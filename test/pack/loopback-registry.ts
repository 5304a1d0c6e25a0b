/** A package registry on loopback that serves what this workspace has installed, so that a test can `npm install` without a network. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly link?: boolean }>>;
}

interface Installed {
  readonly folder: string;
  readonly manifest: { readonly name: string; readonly version: string };
}

/** Maps `name` to its installed versions. `stand-ins` are folders served in place of what is installed under the same name. */
function readInstalled(root: string, standIns: readonly string[]): ReadonlyMap<string, readonly Installed[]> {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const paths = Object.entries(lock.packages).filter(([path, { link }]) => path.includes("node_modules/") && link !== true);
  const byName = new Map<string, Installed[]>();
  for (const folder of [...standIns, ...paths.map(([path]) => join(root, path))]) {
    let text: string;
    try {
      text = readFileSync(join(folder, "package.json"), "utf8");
    } catch {
      // The lock lists packages for other machines, which aren't installed on this one.
      continue;
    }
    const manifest = JSON.parse(text) as Installed["manifest"];
    const versions = byName.get(manifest.name) ?? [];
    if (!standIns.includes(folder) && versions.some((one) => one.manifest.version === manifest.version)) continue;
    byName.set(manifest.name, [...versions, { folder, manifest }]);
  }
  return byName;
}

function packDocument(versions: readonly Installed[], base: string): object {
  return {
    name: versions[0]?.manifest.name,
    "dist-tags": { latest: versions.at(-1)?.manifest.version },
    versions: Object.fromEntries(
      versions.map(({ manifest }) => [
        manifest.version,
        { ...manifest, dist: { tarball: `${base}/${manifest.name}/-/${manifest.version}.tgz` } },
      ]),
    ),
  };
}

function packTarball({ folder }: Installed): Buffer {
  const args = ["--create", "--gzip", "--exclude=./node_modules", "--transform=s,^\\.,package,", "--directory", folder, "."];
  return execFileSync("tar", args, { maxBuffer: 1024 * 1024 * 1024 });
}

function respond(response: ServerResponse, found: Buffer | string | undefined): void {
  response.statusCode = found === undefined ? 404 : 200;
  response.end(found ?? "{}");
}

/** The address of the registry, and the names that it was asked for and didn't have. */
export interface LoopbackRegistry extends AsyncDisposable {
  readonly url: string;
  readonly missing: ReadonlySet<string>;
}

/** Serves the packages installed under `root`, and the folders `standIns` instead of those of the same name. */
export async function serveRegistry(root: string, standIns: readonly string[]): Promise<LoopbackRegistry> {
  const installed = readInstalled(root, standIns);
  const missing = new Set<string>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const base = `http://${request.headers.host ?? ""}`;
    const [name = "", file] = path.split("/-/");
    const versions = installed.get(name);
    if (versions === undefined) missing.add(name);
    if (file === undefined) {
      respond(response, versions && JSON.stringify(packDocument(versions, base)));
      return;
    }
    const wanted = versions?.find(({ manifest }) => `${manifest.version}.tgz` === file);
    respond(response, wanted && packTarball(wanted));
  });
  const listening = Promise.withResolvers<undefined>();
  server.once("error", listening.reject);
  server.listen(0, "127.0.0.1", () => listening.resolve(undefined));
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, missing, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
