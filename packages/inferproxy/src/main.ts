#!/usr/bin/env node
/** The program: reads its command line, serves until it is told to stop. */
import { openLinePrinter, openLog, systemClock } from "@boxmaker/edge/log";
import { openServiceManager } from "@boxmaker/edge/service-manager";
import { errorCode } from "./error-code.ts";
import { Events } from "./events.ts";
import { serve } from "./socket/serve.ts";
import { type ApiKey, readApiKey } from "./start/api-key.ts";
import { readCaFile } from "./start/ca-file.ts";
import { type Options, parseOptions, USAGE } from "./start/options.ts";
import { refusalLine, type StartRefusal } from "./start/refusal.ts";

const print = openLinePrinter((text) => process.stdout.write(text));
const complain = openLinePrinter((text) => process.stderr.write(text));

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
    const result = await readCaFile(options.caFile);
    if (result.kind === "refused") {
      return result.refusal;
    }
    ca = result.ca;
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
  print(`inferproxy: ready on ${listenPath}, upstream ${upstream.url}`);
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
  complain(`inferproxy: ${result.problem} (${USAGE}); see docs/runbook.md#inferproxy-usage`);
  process.exitCode = 2;
} else {
  const refusal = await run(result.options);
  if (refusal !== undefined) {
    complain(refusalLine(refusal));
    process.exitCode = 1;
  }
}
