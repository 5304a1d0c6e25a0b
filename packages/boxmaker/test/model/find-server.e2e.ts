/** Whose model server is taken, with real listeners of this and of another user. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { startModelServer } from "@boxmaker/demo-model";
import { checkModel } from "../../src/doctor/box-checks.ts";
import { findServer } from "../../src/model/find-server.ts";
import { readListeners } from "../../src/model/listeners.ts";

const STRANGER = 54_321;
const PROGRAM = join(import.meta.dirname, "../support/strangers-server-program.ts");
const skip = process.getuid?.() !== 0 && "needs root, to be another user";

const portOf = (url: string): number => Number(new URL(url).port);

/** Starts a model server of another user. */
async function startStrangers(): Promise<AsyncDisposable & { readonly port: number }> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, String(STRANGER), "0"], { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").once("data", resolve);
    child.once("exit", () => reject(new Error("the stranger's server ended")));
  });
  return {
    port: Number(/^ready ([0-9]+)\n$/u.exec(line)?.[1]),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      child.stdin?.end();
      await ended;
    },
  };
}

test("findServer() takes a server of this user at a usual port", async () => {
  await using server = await startModelServer({ script: [], modelName: "mine" });
  const port = portOf(server.url);
  assert.ok((await readListeners()).some((listener) => listener.port === port && listener.uid === process.getuid?.()));
  assert.deepEqual(await findServer({ ports: [port] }), { url: server.url, model: "mine", kind: "llama-server" });
});

test("findServer() asks nothing of another user's server, and goes on to the next port", { skip }, async () => {
  await using stranger = await startStrangers();
  await using server = await startModelServer({ script: [] });
  assert.ok((await readListeners()).some(({ port, uid }) => port === stranger.port && uid === STRANGER));
  assert.equal(await findServer({ ports: [stranger.port] }), undefined);
  assert.equal((await findServer({ ports: [stranger.port, portOf(server.url)] }))?.url, server.url);
  assert.equal((await checkModel({ ports: [stranger.port] })).result, "skipped");
});
