import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type Exchange, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { ApiKey } from "../src/start/api-key.ts";
import { startProxy } from "./support/peers.ts";

/** Asks for a completion by way of the proxy's socket; gives the answer when its head is there. */
async function complete(socketPath: string): Promise<IncomingMessage> {
  const outgoing = request({ socketPath, method: "POST", path: "/v1/chat/completions", agent: false });
  outgoing.end(JSON.stringify({ stream: true, messages: [{ role: "user", content: "hi" }] }));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return response;
}

for (const apiKey of [null, new ApiKey("s3cret")]) {
  const how = apiKey === null ? "byte by byte" : "with a key";
  const key = apiKey === null ? {} : { apiKey: "s3cret" };

  test(`a proxy ${how} delivers a token before the model server has made the next one`, async () => {
    const gate = Promise.withResolvers<undefined>();
    const steps = [{ kind: "bytes", bytes: "first" } as const, { kind: "wait", gate: gate.promise } as const];
    await using server = await startModelServer({ ...key, script: [stream([...steps, ...replySteps({ content: "second" })])] });
    await using proxy = await startProxy(server.url, { apiKey });
    const response = await complete(proxy.path);
    const [piece] = (await once(response, "data")) as [Buffer];
    assert.equal(piece.toString(), "first");
    gate.resolve(undefined);
    assert.match(await text(response), /"content":"second".*data: \[DONE\]\n\n$/su);
  });

  test(`a proxy ${how} cancels at the model server when the client goes away during a silence`, async () => {
    const never = Promise.withResolvers<never>().promise;
    const silence: Exchange = stream([{ kind: "headers" }, { kind: "wait", gate: never }]);
    await using server = await startModelServer({ ...key, script: [silence] });
    await using proxy = await startProxy(server.url, { apiKey });
    const response = await complete(proxy.path);
    response.on("error", () => undefined);
    response.destroy();
    assert.equal(await server.requests[0]?.ended, "client-gone");
  });

  test(`a proxy ${how} passes on a stream that the model server cuts, and the cut`, async () => {
    await using server = await startModelServer({
      ...key,
      script: [stream([{ kind: "bytes", bytes: "half a li" }, { kind: "cut" }])],
    });
    await using proxy = await startProxy(server.url, { apiKey });
    const response = await complete(proxy.path);
    let received = "";
    response.on("data", (piece: Buffer) => {
      received += piece.toString();
    });
    response.on("error", () => undefined);
    await new Promise((resolve) => {
      response.once("close", resolve);
    });
    assert.deepEqual([received, response.complete], ["half a li", false]);
  });
}
