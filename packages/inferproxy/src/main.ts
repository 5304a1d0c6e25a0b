#!/usr/bin/env node
/** The program: reads its command line, serves until it is told to stop. */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { openLog, systemClock } from "@boxmaker/edge/log";
import { openServiceManager } from "@boxmaker/edge/service-manager";
import { quoteText } from "@boxmaker/proto";
import { errorCode } from "./error-code.ts";
import { Events } from "./events.ts";
import { serve } from "./socket/serve.ts";
import { type ApiKey, readApiKey } from "./start/api-key.ts";
import { type Options, parseOptions, USAGE } from "./start/options.ts";
import { refusalLine, type StartRefusal } from "./start/refusal.ts";

async function run(options: Options): Promise<StartRefusal | undefined> {
  // Caught before the socket exists, so that no signal can leave it behind.
  const stop = Promise.withResolvers<string>();
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, stop.resolve);
  }
  let apiKey: ApiKey | null = null;
  if (options.apiKeyFile !== null) {
    const result = await readApiKey(options.apiKeyFile);
    if (result.kind === "refused") {
      return result.refusal;
    }
    apiKey = result.key;
  }
  let ca: string | null = null;
  if (options.caFile !== null) {
    try {
      ca = await readFile(options.caFile, "utf8");
      // Throws for a file that holds no certificate: TLS would take it silently and then trust nobody.
      new X509Certificate(ca);
    } catch (error) {
      // Without the certificate that the owner named, no server is trusted and the program doesn't start.
      const message = `cannot read the certificates in ${quoteText(options.caFile)} (${errorCode(error)})`;
      return { message, runbook: "docs/runbook.md#inferproxy-ca-file" };
    }
  }
  const { listenPath, upstream, limits } = options;
  const log = openLog(
    (line) => process.stderr.write(line),
    () => systemClock.now(),
  );
  const events = new Events(log);
  using systemd = openServiceManager({
    environment: process.env,
    pid: process.pid,
    clock: systemClock,
    warn: (text) => log.warn("notice", { text }),
  });
  const result = await serve({ listenPath, upstream, ca, apiKey, limits, clock: systemClock, events });
  if (result.kind === "refused") {
    return result.refusal;
  }
  await using proxy = result.proxy;
  process.stdout.write(`inferproxy: ready on ${listenPath}, upstream ${upstream.url}\n`);
  await systemd.ready(`ready on ${listenPath}, upstream ${upstream.url}`);
  try {
    const signal = await Promise.race([stop.promise, proxy.closed]);
    events.stopping(signal ?? "");
    await systemd.stopping();
    return undefined;
  } catch (error) {
    // A proxy that takes no clients must not look alive.
    return { message: `the socket's listener ended (${errorCode(error)})`, runbook: "docs/runbook.md#inferproxy-socket" };
  }
}

process.umask(0o077);
const result = parseOptions(process.argv.slice(2));
if (result.kind === "help") {
  process.stdout.write(`${USAGE}\n`);
} else if (result.kind === "wrong") {
  process.stderr.write(`inferproxy: ${result.problem} (${USAGE}); see docs/runbook.md#inferproxy-usage\n`);
  process.exitCode = 2;
} else {
  const refusal = await run(result.options);
  if (refusal !== undefined) {
    process.stderr.write(`${refusalLine(refusal)}\n`);
    process.exitCode = 1;
  }
}
