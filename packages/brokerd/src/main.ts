#!/usr/bin/env node
/** The brokerd program: arguments, signals, exit codes. */
import { parseArgs } from "node:util";
import { openLinePrinter, openLog, systemClock } from "@boxmaker/edge/log";
import { openServiceManager } from "@boxmaker/edge/service-manager";
import { quoteText } from "@boxmaker/proto";
import { AttackName } from "./attack/finding.ts";
import { type Config, readConfig } from "./config/config.ts";
import { serve } from "./serve.ts";

const VERSION = "0.1.0";
/** Beyond the limits that the configuration sets for a stop. */
const STOP_MARGIN_MS = 10_000;
/** Told apart from other failures, so that who starts brokerd can try another runtime. */
const NO_RUNTIME_STATUS = 3;
const USAGE = `Usage: brokerd serve --config FILE [--accept-break]
       brokerd attack --config FILE [--only NAME]...

Decides every tool call, records the decision, asks the owner where a grant says so, and runs what is allowed. "attack" tries to get out
of the configured sandbox, in a place of its own, beside a brokerd that runs: one line of JSON for each attack; \`boxmaker doctor\` shows it.

Options:
  --config FILE   the configuration, TOML; every key is listed in docs/configuration.md
  --accept-break  go on behind a break of the audit log, on record; see docs/runbook.md#audit-break-accepted
  --only NAME     with "attack": this one alone, and others named so
  --help          this text

Exit status: 0 stopped, or no attack got through; 1 failed, 2 usage or no break to accept, 3 the runtime that the configuration names can't be used here.

Example: brokerd serve --config /etc/boxmaker/brokerd.toml
`;

const print = openLinePrinter((text) => process.stdout.write(text));
const complain = openLinePrinter((text) => process.stderr.write(text), "brokerd: ");

function fail(code: number, line: string): void {
  complain(line);
  process.exitCode = code;
}

type CommandLine =
  | { readonly command: "help" }
  | { readonly command: "serve"; readonly config: string; readonly acceptBreak: boolean }
  | { readonly command: "attack"; readonly config: string; readonly only: readonly AttackName[] };

function parseCommandLine(): CommandLine | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        config: { type: "string" },
        "accept-break": { type: "boolean" },
        only: { type: "string", multiple: true },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help === true) return { command: "help" };
    const { config, "accept-break": acceptBreak, only } = values;
    if (positionals.length !== 1 || config === undefined) return undefined;
    if (positionals[0] === "serve" && only === undefined) return { command: "serve", config, acceptBreak: acceptBreak ?? false };
    if (positionals[0] !== "attack" || acceptBreak !== undefined) return undefined;
    const names = AttackName.array().safeParse(only ?? []);
    return names.success ? { command: "attack", config, only: names.data } : undefined;
  } catch {
    // parseArgs throws for unknown options only; the usage says which there are.
    return undefined;
  }
}

async function main(): Promise<void> {
  const command = parseCommandLine();
  if (command === undefined) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  if (command.command === "help") {
    process.stdout.write(USAGE);
    return;
  }
  process.umask(0o077);
  const reading = await readConfig(command.config);
  if (reading.kind === "invalid") return fail(1, `${reading.problem}; see docs/runbook.md#config-invalid`);
  if (command.command === "attack") return attack(reading.config, command.only);

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
  const stop = new AbortController();
  const hurry = new AbortController();
  const end = (): void => (stop.signal.aborted ? hurry.abort() : stop.abort());
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
  let isReloadDue = false;
  let reload: () => void = () => {
    isReloadDue = true;
  };
  // From a terminal it says that the terminal goes away, and with it whoever started this; from elsewhere, that the file has changed.
  process.on("SIGHUP", process.stderr.isTTY ? end : () => reload());
  const serving = await serve(reading.config, {
    version: VERSION,
    clock: systemClock,
    log,
    acceptBreak: command.acceptBreak,
  });
  if (serving.kind === "refused") return fail(1, serving.problem);
  if (serving.kind === "nothing_to_accept") return fail(2, serving.problem);
  if (serving.kind === "no_runtime") return fail(NO_RUNTIME_STATUS, serving.problem);

  const { broker } = serving;
  for (const notice of broker.notices) complain(notice);
  print(`brokerd: ready on ${reading.config.sockets.broker}, ${broker.describe}`);
  const tellReady = (): Promise<void> => systemd.ready(`ready, ${broker.describe}`);
  reload = () => {
    // On its way down it has said its last word to systemd.
    if (stop.signal.aborted) return;
    // Neither rejects; systemd, which waits for the second word, is told the two in this order.
    systemd
      .reloading()
      .then(() => broker.reload())
      .then(tellReady, (error: unknown) => endNow(phraseBug(error)));
  };
  await tellReady();
  // The file may have changed since it was read.
  if (isReloadDue) reload();
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener("abort", () => resolve(), { once: true });
    if (stop.signal.aborted) resolve();
  });
  try {
    await Promise.race([stopped, broker.failed]);
  } catch (error) {
    // A broker that can't be reached must not look alive.
    fail(1, `${error instanceof Error ? error.message : "a listener ended"}; see docs/runbook.md#listener-ended`);
  }
  const { stop_grace_ms, write_deadline_ms } = broker.limits;
  setTimeout(endNow, stop_grace_ms + write_deadline_ms + STOP_MARGIN_MS, "didn't stop in time").unref();
  await Promise.all([systemd.stopping(), broker.stop(hurry.signal)]);
}

async function attack({ runner }: Config, only: readonly AttackName[]): Promise<void> {
  if (runner === null || runner.runtime === "refusing") {
    return fail(NO_RUNTIME_STATUS, "no [runner] in the config: there is nothing to attack; see docs/runbook.md#no-runner");
  }
  const { runAttacks } = await import("./attack/run-attacks.ts");
  const stop = new AbortController();
  const end = (): void => stop.abort();
  // The end of whoever started this is told once for each of its threads (PR_SET_PDEATHSIG): that must not cut the clean-up short.
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  // Whoever asks twice at a terminal doesn't want to wait.
  process.once("SIGINT", end);
  const problem = await runAttacks({
    runner,
    clock: systemClock,
    only,
    warn: complain,
    onFinding: (finding) => {
      print(JSON.stringify(finding));
      if (finding.result === "failed") process.exitCode = 1;
    },
    stop: stop.signal,
  });
  if (stop.signal.aborted) return fail(1, "stopped before everything was tried");
  if (problem !== undefined) fail(NO_RUNTIME_STATUS, problem);
}

/** The last resort: what is on record is on disk, and what isn't was never released. */
function endNow(why: string): void {
  fail(1, `${why}; see docs/runbook.md#brokerd-bug`);
  // An exit waits for the threads, and so for a disk that hangs.
  if (process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"))) process.kill(process.pid, "SIGKILL");
  process.exit();
}

function phraseBug(error: unknown): string {
  return `failed: ${quoteText(error instanceof Error ? (error.stack ?? error.message) : "an unknown error")}`;
}

// A reader of our output that goes away is no reason to leave calls without an answer.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
// Nothing may go on after a bug that nobody caught; its text may be a peer's, so it is quoted.
process.on("uncaughtException", (error: unknown) => {
  endNow(phraseBug(error));
});
await main();
