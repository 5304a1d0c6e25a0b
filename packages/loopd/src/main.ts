#!/usr/bin/env node
/** The loopd program: arguments, signals, exit codes. */
import { parseArgs } from "node:util";
import { type Log, openLinePrinter, openLog, systemClock } from "@boxmaker/edge/log";
import { openServiceManager } from "@boxmaker/edge/service-manager";
import { type Config, readConfig } from "./config/config.ts";
import { selftest } from "./selftest/selftest.ts";
import { serve } from "./serve.ts";

const USAGE = `Usage: loopd serve --config FILE
       loopd selftest --config FILE

Keeps the conversations: sends them to the model, runs its tool calls through brokerd, streams what happens over loop.sock.
selftest says what the model server is, and each way in which it isn't as it should be; serve does the same first.

Options:
  --config FILE  the configuration, TOML; every key is listed in docs/configuration.md
  --help         this text

Example: loopd serve --config /etc/boxmaker/loopd.toml
`;

const SELFTEST_MS = 60_000;
/** A start mustn't wait long for a server that is slow, or reads another's long prompt. */
const SELFTEST_AT_START_MS = 15_000;
const EXIT_GRACE_MS = 2_000;
const dependencies = { clock: systemClock, random: Math.random };

interface Command {
  readonly name: "serve" | "selftest";
  readonly config: string;
}

const print = openLinePrinter((text) => process.stdout.write(text));
const complain = openLinePrinter((text) => process.stderr.write(text), "loopd: ");

function fail(code: number, line: string): void {
  complain(line);
  process.exitCode = code;
}

function parseCommandLine(): Command | "help" | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { config: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    if (values.help === true) return "help";
    const [name] = positionals;
    if (positionals.length !== 1 || (name !== "serve" && name !== "selftest") || values.config === undefined) return undefined;
    return { name, config: values.config };
  } catch {
    // parseArgs throws for what was typed only; the usage says what there is.
    return undefined;
  }
}

async function runSelftest(config: Config): Promise<void> {
  const { lines, mismatches, warnings } = await selftest(config, dependencies, AbortSignal.timeout(SELFTEST_MS));
  for (const line of lines) print(line);
  for (const problem of [...mismatches, ...warnings]) fail(1, problem);
}

/** Whether the model server is none that the owner said wasn't to be used. One that is away may come later. */
async function isExpectedServer(config: Config, log: Log): Promise<boolean> {
  const { mismatches, warnings } = await selftest(config, dependencies, AbortSignal.timeout(SELFTEST_AT_START_MS));
  for (const warning of warnings) log.warn("selftest", { warning });
  for (const mismatch of mismatches) fail(1, mismatch);
  return mismatches.length === 0;
}

async function runServe(config: Config): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.resolve());
  const log = openLog(
    (line) => process.stderr.write(line),
    () => systemClock.now(),
  );
  using systemd = openServiceManager({
    environment: process.env,
    pid: process.pid,
    clock: systemClock,
    warn: (text) => log.warn("notice", { text }),
  });
  if (!(await isExpectedServer(config, log))) return;
  const serving = await serve(config, { ...dependencies, log });
  if (serving.kind === "refused") return fail(1, serving.problem);
  const { loop } = serving;
  for (const notice of loop.notices) complain(notice);
  print(`loopd: ready on ${config.sockets.loop}`);
  await systemd.ready(`ready on ${config.sockets.loop}`);
  try {
    await Promise.race([stop.promise, loop.failed]);
  } catch (error) {
    // A loopd that can't be reached must not look alive.
    fail(1, `${error instanceof Error ? error.message : "a listener ended"}; see docs/runbook.md#listener-ended`);
  }
  await Promise.all([systemd.stopping(), loop.stop()]);
  // A client that keeps its connection open doesn't keep loopd alive.
  setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
}

async function main(): Promise<void> {
  const command = parseCommandLine();
  if (command === "help") {
    process.stdout.write(USAGE);
    return;
  }
  if (command === undefined) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  process.umask(0o077);
  const reading = await readConfig(command.config);
  if (reading.kind === "invalid") return fail(1, `${reading.problem}; see docs/runbook.md#config-invalid`);
  if (command.name === "selftest") await runSelftest(reading.config);
  else await runServe(reading.config);
}

await main();
