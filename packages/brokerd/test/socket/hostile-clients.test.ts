/** Clients that stop at any byte, ask at the wrong place, or take all there is: nothing breaks, and the others are served. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { type AdminRequest, type BrokerRequest, encodeFrame } from "@boxmaker/proto";
import { ask, Client, frameOf } from "../support/client.ts";
import { call, type Served, serve } from "../support/served.ts";

const FIXTURES = join(import.meta.dirname, "../../../proto/test/fixtures");

/** One request of every kind that there is for a role's sockets, as the bytes of a frame. */
function framesOf(
  messages: "AdminRequest" | "ApprovalRequest" | "BrokerRequest" | "LoopRequest",
): readonly (readonly [string, Buffer])[] {
  const names = readdirSync(join(FIXTURES, messages)).filter((name) => name.endsWith(".json"));
  assert.ok(names.length > 0);
  return names.map((name) => {
    const text = readFileSync(join(FIXTURES, messages, name), "utf8").trimEnd();
    const kind = /"kind":"(?<kind>[a-z_]+)"/u.exec(text)?.groups?.["kind"] ?? "";
    return [kind, encodeFrame(text)] as const;
  });
}

async function settled(served: Served): Promise<void> {
  while (served.connections.size > 0) await new Promise(setImmediate);
}

test("every kind that belongs elsewhere is forbidden on each socket, logged in one line, and has no effect", async () => {
  await using served = await serve();
  const { rig } = served;
  const asks = framesOf("ApprovalRequest");
  const foreign = [...framesOf("AdminRequest"), ...framesOf("LoopRequest"), ...asks];
  for (const [name, path, frames] of [
    ["broker", served.broker, foreign],
    ["broker-mcp", served.mcp, foreign],
    ["admin", served.admin, [...framesOf("BrokerRequest"), ...framesOf("LoopRequest"), ...asks]],
    ["approval", served.approval, [...framesOf("AdminRequest"), ...framesOf("BrokerRequest"), ...framesOf("LoopRequest")]],
  ] as const) {
    for (const [kind, frame] of frames) {
      rig.lines.length = 0;
      using client = await Client.connect(path);
      client.socket.write(frame);
      const answer = await client.next();
      assert.equal(answer?.message.kind === "error" && answer.message.body.code, "forbidden", `${kind} on ${name}`);
      assert.equal(await client.next(), undefined);
      assert.deepEqual(
        rig.lines.map((line) => line.split(" ").slice(2).join(" ")),
        [`forbidden socket=${name} kind=${kind}\n`],
      );
    }
  }
  assert.equal(rig.ledger.head, 0);
  assert.equal(rig.table.size, 0);
});

test("a client that is gone after any byte of its request changes nothing", async () => {
  await using served = await serve();
  const frame = frameOf(call(served, "write_file"));
  for (let cut = 0; cut < frame.length; cut++) {
    const client = await Client.connect(served.broker);
    client.socket.write(frame.subarray(0, cut), () => client.socket.destroy());
  }
  await settled(served);
  assert.equal(served.rig.ledger.head, 0);
  assert.equal(served.rig.lines.filter((line) => line.includes(" bug ")).length, 0);
  assert.equal((await ask(served.broker, call(served, "read_file"))).kind, "tool_response");
});

/** Asks, takes so many bytes of the answer and no more, and is gone. Returns false where there were fewer. */
async function takeBytes(path: string, request: AdminRequest | BrokerRequest, bytes: number): Promise<boolean> {
  let taken = 0;
  const enough = Promise.withResolvers<void>();
  const onread = {
    buffer: Buffer.alloc(1),
    callback: (count: number): boolean => {
      taken += count;
      if (taken === bytes) enough.resolve();
      return taken < bytes;
    },
  };
  const socket = createConnection({ path, onread });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(frameOf(request));
  if (bytes > 0) await Promise.race([enough.promise, once(socket, "close")]);
  socket.destroy();
  return taken >= bytes;
}

test("a client that is gone after any byte of its answer leaves nothing behind", async () => {
  await using served = await serve();
  let whole = 0;
  while (await takeBytes(served.admin, { kind: "approvals", body: {} }, whole + 1)) whole += 1;
  assert.ok(whole > 50);
  await settled(served);
  for (let bytes = 0; bytes < 60; bytes += 4) await takeBytes(served.broker, call(served, "read_file"), bytes);
  await settled(served);
  await served.rig.calls.stop(AbortSignal.abort());
  assert.equal(served.files.events("decision").length, 15);
  assert.deepEqual(served.rig.states.unfinished, []);
  assert.equal(served.rig.lines.filter((line) => line.includes(" bug ")).length, 0);
});

test("a flood, clients that stop halfway and clients that don't read come after a quiet one that came last", async () => {
  await using served = await serve({ connections: 256 }, { maxBoxes: 8 });
  const { rig } = served;
  const order: string[] = [];
  const release = Promise.withResolvers<void>();
  rig.runtime.answer = async ({ session }) => {
    if (session === "flood") await release.promise;
    return { kind: "done", status: "ok", content: session.startsWith("deaf") ? "x".repeat(1024 * 1024) : "x", truncated: false };
  };
  const halfway = await Promise.all(Array.from({ length: 40 }, () => Client.connect(served.broker)));
  for (const client of halfway) client.socket.write(frameOf(call(served, "read_file")).subarray(0, 50));
  const deaf = await Promise.all(
    Array.from({ length: 20 }, (_, number) => Client.request(served.broker, call(served, "read_file", `deaf-${number}`))),
  );
  for (const client of deaf) client.socket.pause();
  const flood = Array.from({ length: 30 }, () =>
    ask(served.broker, call(served, "read_file", "flood")).then(() => order.push("flood")),
  );
  while (rig.ledger.running < 4) await new Promise(setImmediate);
  const quiet = ask(served.broker, call(served, "read_file", "quiet")).then(() => order.push("quiet"));
  const owner = ask(served.admin, { kind: "approvals", body: {} }).then(() => order.push("owner"));
  await Promise.all([quiet, owner]);
  assert.deepEqual(order.toSorted(), ["owner", "quiet"]);
  for (const client of [...halfway, ...deaf]) client.socket.destroy();
  release.resolve();
  await Promise.all(flood);
  assert.equal(order.length, 32);
});
