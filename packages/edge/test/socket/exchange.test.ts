import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import {
  ByteBudget,
  type ConnectionHandler,
  connectUnix,
  ExchangeError,
  listenUnix,
  type RequestFault,
  requestFinal,
  requestReply,
  serveConnection,
} from "@boxmaker/edge/socket";
import { encodeFrame, encodeMessage, LoopAnswer, LoopRequest, MAX_FRAME, SessionId } from "@boxmaker/proto";
import { tempFolder } from "./temp-folder.ts";

const never = new AbortController().signal;
const session = SessionId.parse("s");
const cancel: LoopRequest = { kind: "cancel", body: { session } };
const ok: LoopAnswer = { kind: "ok", body: {} };
const progress: LoopAnswer = { kind: "turn_event", body: { event: "text", text: "hé" } };

type Handler = ConnectionHandler<LoopRequest, LoopAnswer>;

interface Served extends AsyncDisposable {
  readonly path: string;
  readonly faults: RequestFault[];
  readonly bugs: unknown[];
}

/** A server whose handler is given; faults and bugs are collected. */
async function served(handle: Handler["handle"], overrides: Partial<Handler> = {}): Promise<Served> {
  const folder = await tempFolder();
  const path = join(folder.path, "d/x.sock");
  const faults: RequestFault[] = [];
  const bugs: unknown[] = [];
  const open = new Set<Socket>();
  const listening = await listenUnix({
    path,
    maxConnections: 8,
    onConnection: (socket) => {
      open.add(socket);
      serveConnection(socket, {
        requests: LoopRequest,
        answers: LoopAnswer,
        readDeadlineMs: 60_000,
        writeDeadlineMs: 60_000,
        handle,
        onFault: (fault) => faults.push(fault),
        onBug: (error) => bugs.push(error),
        ...overrides,
      }).catch((error: unknown) => bugs.push(error));
    },
  });
  if (listening.kind === "refused") throw new Error(listening.problem);
  const { server } = listening;
  return {
    path,
    faults,
    bugs,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function exchange(signal: AbortSignal = never) {
  return { requests: LoopRequest, answers: LoopAnswer, message: cancel, signal };
}

function written(socket: Socket, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    socket.write(piece, () => resolve());
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A server that answers whatever comes with these bytes, in these pieces, and closes. */
async function raw(
  pieces: readonly Uint8Array[],
  end: "end" | "destroy" = "end",
): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await tempFolder();
  const path = join(folder.path, "d/x.sock");
  const listening = await listenUnix({
    path,
    maxConnections: 8,
    onConnection: (socket) =>
      socket.once("data", () => {
        const answer = async (): Promise<void> => {
          for (const piece of pieces) await written(socket, piece);
          if (end === "end") socket.end();
          else socket.destroy();
        };
        answer().catch(() => socket.destroy());
      }),
  });
  if (listening.kind === "refused") throw new Error(listening.problem);
  const { server } = listening;
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function failure(path: string, signal: AbortSignal = never): Promise<ExchangeError> {
  try {
    await requestFinal(path, exchange(signal));
  } catch (error) {
    assert.ok(error instanceof ExchangeError);
    return error;
  }
  throw new Error("expected a failure");
}

function frame(message: LoopAnswer, final: boolean, id = 1): Buffer {
  return encodeMessage(LoopAnswer, { id, final, message });
}

test("requestReply() yields each answer in order and ends with the final one", async () => {
  await using server = await served(async (envelope, reply) => {
    assert.deepEqual(envelope.message, cancel);
    assert.equal(await reply(progress, false), "sent");
    assert.equal(await reply(ok, true), "sent");
    assert.equal(await reply(ok, true), "gone", "nothing comes after the final answer");
  });
  const answers: unknown[] = [];
  for await (const answer of requestReply(server.path, exchange())) answers.push(answer);
  assert.deepEqual(answers, [
    { final: false, message: progress },
    { final: true, message: ok },
  ]);
  assert.deepEqual(server.bugs, []);
});

test("requestReply() gives the same answers for one byte at a time and for all frames in one write", async () => {
  const bytes = Buffer.concat([frame(progress, false), frame(progress, false), frame(ok, true)]);
  for (const pieces of [[bytes], Array.from(bytes, (byte) => Uint8Array.of(byte))]) {
    await using server = await raw(pieces);
    const kinds: string[] = [];
    for await (const { message } of requestReply(server.path, exchange())) kinds.push(message.kind);
    assert.deepEqual(kinds, ["turn_event", "turn_event", "ok"]);
  }
});

test("requestReply() counts a final answer that arrived though the peer then failed", async () => {
  await using server = await raw([frame(ok, true)], "destroy");
  assert.deepEqual(await requestFinal(server.path, exchange()), ok);
});

test("requestReply() tells how the exchange ended without a final answer", async () => {
  const cases: readonly [string, readonly Uint8Array[]][] = [
    ["closed", []],
    ["closed", [frame(progress, false)]],
    ["truncated", [frame(ok, true).subarray(0, 9)]],
    ["too_large", [Uint8Array.of(0, 0x80, 0, 1)]],
    ["bad_frame", [encodeFrame("{")]],
    ["bad_version", [encodeFrame('{"v":2,"id":1,"final":true,"kind":"ok","body":{}}')]],
    ["bad_message", [encodeFrame('{"v":1,"id":1,"final":true,"kind":"ok","body":{"a":1}}')]],
    ["wrong_id", [frame(ok, true, 2)]],
  ];
  for (const [code, pieces] of cases) {
    await using server = await raw(pieces);
    const error = await failure(server.path);
    assert.equal(error.code, code);
    assert.equal(error.sent, true);
  }
});

test("requestReply() says that nothing was sent where there is no peer", async () => {
  await using folder = await tempFolder();
  const error = await failure(join(folder.path, "x.sock"));
  assert.deepEqual([error.code, error.sent], ["absent", false]);
});

test("requestReply() closes the connection when its signal aborts or its reader leaves, and the server notices", async () => {
  const gone: Promise<void>[] = [];
  await using server = await served(async (_envelope, reply, signal) => {
    gone.push(aborted(signal));
    await reply(progress, false);
    await gone.at(-1);
  });
  const controller = new AbortController();
  const error = await (async () => {
    try {
      for await (const answer of requestReply(server.path, exchange(controller.signal))) {
        assert.equal(answer.final, false);
        controller.abort();
      }
    } catch (thrown) {
      return thrown;
    }
    return undefined;
  })();
  assert.ok(error instanceof ExchangeError);
  assert.equal(error.code, "timeout");
  for await (const answer of requestReply(server.path, exchange())) {
    assert.equal(answer.final, false);
    break;
  }
  await Promise.all(gone);
  assert.equal(gone.length, 2);
});

test("serveConnection() answers an unreadable request with id 0 and closes", async () => {
  await using server = await served(() => assert.fail("nothing readable came"));
  const cases: readonly [RequestFault, Uint8Array][] = [
    ["bad_frame", encodeFrame("nonsense")],
    ["bad_frame", Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
    ["bad_version", encodeFrame('{"v":9,"id":1,"final":true,"kind":"cancel","body":{"session":"s"}}')],
    ["bad_message", encodeFrame('{"v":1,"id":1,"final":true,"kind":"nope","body":{}}')],
    ["bad_message", encodeFrame('{"v":1,"id":1,"final":false,"kind":"cancel","body":{"session":"s"}}')],
  ];
  for (const [code, bytes] of cases) {
    const socket = await connectUnix(server.path, { signal: never });
    socket.write(bytes);
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    await once(socket, "end");
    socket.destroy();
    const text = Buffer.concat(received).subarray(4).toString();
    assert.ok(text.startsWith(`{"v":1,"id":0,"final":true,"kind":"error","body":{"code":"${code}"`), text);
  }
  assert.deepEqual(
    server.faults,
    cases.map(([code]) => code),
  );
});

test("serveConnection() answers a cut request and says nothing to a peer that only connects", async () => {
  await using server = await served(() => assert.fail("nothing readable came"));
  for (const [bytes, expected] of [
    [encodeFrame("{}").subarray(0, 5), /bad_frame/u],
    [Buffer.alloc(0), /^$/u],
  ] as const) {
    const socket = await connectUnix(server.path, { signal: never });
    socket.end(bytes);
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString();
    });
    await once(socket, "close");
    assert.match(received, expected);
  }
  assert.deepEqual(server.faults, ["bad_frame"]);
});

test("serveConnection() ends a connection that brings no whole request within the deadline, though it trickles", async () => {
  const faulted = Promise.withResolvers<RequestFault>();
  await using server = await served(() => assert.fail("nothing whole came"), {
    readDeadlineMs: 1,
    onFault: (fault) => faulted.resolve(fault),
  });
  const socket = await connectUnix(server.path, { signal: never });
  // Closed with a byte of ours unread, the connection may end in a reset: either way it has ended.
  const closed = new Promise<void>((resolve) => {
    socket.once("end", () => resolve());
    socket.once("close", () => resolve());
  });
  socket.write(Uint8Array.of(0));
  assert.equal(await faulted.promise, "stalled");
  socket.resume();
  await closed;
});

test("serveConnection() takes anything that a waiting peer sends as its leaving", async () => {
  const left = Promise.withResolvers<void>();
  await using server = await served(async (_envelope, reply, signal) => {
    await reply(progress, false);
    await aborted(signal);
    left.resolve();
  });
  const socket = await connectUnix(server.path, { signal: never });
  const request = encodeMessage(LoopRequest, { id: 7, final: true, message: cancel });
  socket.write(request);
  await once(socket, "data");
  socket.write(request);
  await left.promise;
  socket.destroy();
});

test("serveConnection() gives up on a peer that doesn't take its answer", async () => {
  const delivery = Promise.withResolvers<string>();
  const big: LoopAnswer = { kind: "turn_event", body: { event: "text", text: "x".repeat(MAX_FRAME / 2) } };
  await using server = await served(
    async (_envelope, reply) => {
      delivery.resolve(await reply(big, false));
    },
    { writeDeadlineMs: 1 },
  );
  const socket = await connectUnix(server.path, { signal: never });
  socket.pause();
  socket.write(encodeMessage(LoopRequest, { id: 1, final: true, message: cancel }));
  assert.equal(await delivery.promise, "gone");
  socket.destroy();
});

test("serveConnection() closes without a final answer when its handler throws, and hands the error on", async () => {
  const bug = new Error("bug");
  await using server = await served(() => Promise.reject(bug));
  assert.equal((await failure(server.path)).code, "closed");
  assert.deepEqual(server.bugs, [bug]);
});

test("serveConnection() closes the connection when its answer makes no frame, instead of leaving the peer to wait", async () => {
  const tooBig: LoopAnswer = { kind: "turn_event", body: { event: "text", text: "x".repeat(MAX_FRAME + 1) } };
  await using server = await served(async (_envelope, reply) => {
    await reply(tooBig, true);
  });
  assert.equal((await failure(server.path)).code, "closed");
  assert.equal(server.bugs.length, 1);
});

test("serveConnection() takes a single byte that came with the request as its peer's leaving", async () => {
  const left = Promise.withResolvers<void>();
  await using server = await served(async (_envelope, _reply, signal) => {
    if (!signal.aborted) await aborted(signal);
    left.resolve();
  });
  const socket = await connectUnix(server.path, { signal: never });
  const request = encodeMessage(LoopRequest, { id: 7, final: true, message: cancel });
  socket.write(Buffer.concat([request, Buffer.from([0])]));
  await left.promise;
  socket.destroy();
});

test("serveConnection() answers `limit` past the bytes that its connections may hold together, and gives them back", async () => {
  const request = encodeMessage(LoopRequest, { id: 7, final: true, message: cancel });
  const budget = new ByteBudget(() => request.length);
  await using server = await served((_envelope, reply) => reply(ok, true).then(() => undefined), { budget });
  const first = await connectUnix(server.path, { signal: never });
  first.write(request.subarray(0, 10));
  while (budget.taken < 10) await new Promise(setImmediate);
  const error = await requestFinal(server.path, {
    requests: LoopRequest,
    answers: LoopAnswer,
    message: cancel,
    signal: never,
  });
  assert.deepEqual(error.kind === "error" && error.body.code, "limit");
  assert.deepEqual(server.faults, ["limit"]);
  first.destroy();
  while (budget.taken > 0) await new Promise(setImmediate);
  assert.equal((await requestFinal(server.path, exchange())).kind, "ok");
});
