/** What the egress proxy costs: TLS on loopback, with it and without it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BOX_PLACES, curlArguments, type FetchPlaces } from "../packages/toolkit/src/fetch/curl-arguments.ts";
import { httpFetch } from "../packages/toolkit/src/fetch/http-fetch.ts";
import { runCurl } from "../packages/toolkit/src/fetch/run-curl.ts";
import { makeCertificates, missingPrograms } from "../packages/toolkit/test/fetch/certificates.ts";
import type { Figure } from "./figure/figure.ts";
import { compareInterleaved, compareInterleavedAsync } from "./figure/sample.ts";

const PROXY = fileURLToPath(new URL("./egress/proxy-program.ts", import.meta.url));
const SERVER = fileURLToPath(new URL("./egress/https-program.ts", import.meta.url));

const LARGE_BYTES = 64 * 1024 * 1024;
const LARGE_ROUNDS = 5;
const SMALL_BYTES = 16 * 1024;
const SMALL_ROUNDS = 21;
const LIMIT_MS = 30_000;

interface Program extends AsyncDisposable {
  /** What it said first. */
  readonly line: string;
}

async function startProgram(path: string, ...args: readonly string[]): Promise<Program> {
  const child: ChildProcess = spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(child, "close");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()));
  closed.then(() => reject(new Error(`${path} ended early`)), reject);
  const line = await promise;
  return {
    line,
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      await closed;
    },
  };
}

/** The same command line, with the server dialled directly. */
function directArguments(href: string, places: FetchPlaces, port: string): readonly string[] {
  const args = curlArguments(href, places, LIMIT_MS);
  const at = args.indexOf("--proxy");
  return [...args.slice(0, at), "--connect-to", `example.com:443:127.0.0.1:${port}`, ...args.slice(at + 2)];
}

/** Receives what it asks for and throws it away. @throws {Error} when curl fails: a figure of a failure says nothing */
function receive(args: readonly string[]): void {
  const run = spawnSync(BOX_PLACES.curl, [...args, "--output", "/dev/null", "--max-filesize", String(LARGE_BYTES)], {
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(run.stderr);
}

function measureThroughput(places: FetchPlaces, port: string): Figure {
  const href = `https://example.com/${LARGE_BYTES}`;
  return {
    name: "throughput_vs_direct",
    value: compareInterleaved(
      () => receive(directArguments(href, places, port)),
      () => receive(curlArguments(href, places, LIMIT_MS)),
      LARGE_ROUNDS,
    ),
    unit: "ratio",
    against: `the same curl without a proxy, medians of ${LARGE_ROUNDS} interleaved transfers of ${LARGE_BYTES / 1024 / 1024} MiB`,
  };
}

async function measureFetch(places: FetchPlaces, port: string): Promise<Figure> {
  const href = `https://example.com/${SMALL_BYTES}`;
  const terms = { follow_redirects: true, limit_ms: LIMIT_MS };
  const never = new AbortController().signal;
  const fetched = async (): Promise<void> => {
    const { status, content } = await httpFetch(href, terms, SMALL_BYTES, places);
    if (status !== "ok") throw new Error(content);
  };
  const alone = async (): Promise<void> => {
    const { kind } = await runCurl(directArguments(href, places, port), places.curl, SMALL_BYTES * 2, never);
    if (kind !== "response") throw new Error(`curl: ${kind}`);
  };
  return {
    name: "fetch_vs_curl",
    value: await compareInterleavedAsync(fetched, alone, SMALL_ROUNDS),
    unit: "ratio",
    against: `curl alone, medians of ${SMALL_ROUNDS} interleaved fetches of ${SMALL_BYTES / 1024} KiB, the proxy running already`,
  };
}

export async function run(): Promise<readonly Figure[]> {
  if (missingPrograms("curl", "openssl") !== false) return [];
  const folder = await mkdtemp(join(tmpdir(), "bench-egress-"));
  try {
    const { authority } = makeCertificates(folder, ["example.com"]);
    const proxySocket = join(folder, "proxy.sock");
    await using server = await startProgram(SERVER, folder);
    await using _proxy = await startProgram(PROXY, proxySocket, server.line);
    const places = { ...BOX_PLACES, proxySocket, certificates: authority };
    return [measureThroughput(places, server.line), await measureFetch(places, server.line)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
