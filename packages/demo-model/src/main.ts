#!/usr/bin/env node
/** The demo model as a program. */
import { isAbsolute } from "node:path";
import { parseArgs } from "node:util";
import { serveDemoModel } from "./demo/serve-demo-model.ts";
import type { ListenAddress } from "./server/llama-server.ts";

const USAGE = "usage: demo-model --port PORT | --socket PATH";

function parseListen(args: readonly string[]): ListenAddress | undefined {
  try {
    const { values } = parseArgs({ args: [...args], options: { port: { type: "string" }, socket: { type: "string" } } });
    const { port, socket } = values;
    if (socket !== undefined && port === undefined && isAbsolute(socket)) {
      return { kind: "unix", path: socket };
    }
    return socket === undefined && port !== undefined && /^[0-9]{1,5}$/u.test(port) && Number(port) <= 65_535
      ? { kind: "tcp", port: Number(port) }
      : undefined;
  } catch {
    // parseArgs throws for flags that it doesn't know; nothing has been started yet.
    return undefined;
  }
}

const stop = Promise.withResolvers<string>();
for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, stop.resolve);
}
process.umask(0o077);
const listen = parseListen(process.argv.slice(2));
if (listen === undefined) {
  process.stderr.write(`demo-model: called wrongly (${USAGE}), see docs/runbook.md#demo-model-start\n`);
  process.exitCode = 2;
} else {
  try {
    await using server = await serveDemoModel({ listen });
    process.stdout.write(`demo-model: ready on ${server.url}\n`);
    await stop.promise;
  } catch (error) {
    // The address can't be listened on: nothing is served.
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    process.stderr.write(`demo-model: cannot listen (${code}): name a free port or socket, see docs/runbook.md#demo-model-start\n`);
    process.exitCode = 1;
  }
}
