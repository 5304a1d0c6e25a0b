import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createServer } from "node:tls";
import { ScriptedUpstream, scratch, startProxy, untilClosedInFull } from "./support/peers.ts";

const skip = spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed";

/** A TLS server with a certificate of its own for 127.0.0.1. */
async function tlsUpstream(): Promise<AsyncDisposable & { readonly upstream: ScriptedUpstream; readonly certificate: string }> {
  await using directory = await scratch();
  const key = join(directory.path, "key.pem");
  const cert = join(directory.path, "cert.pem");
  const subject = ["-subj", "/CN=infer.test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
  const made = spawnSync("openssl", [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    key,
    "-out",
    cert,
    ...subject,
  ]);
  assert.equal(made.status, 0, made.stderr.toString());
  const certificate = await readFile(cert, "utf8");
  const server = createServer({ key: await readFile(key), cert: certificate, allowHalfOpen: true });
  server.on("tlsClientError", () => undefined);
  const upstream = new ScriptedUpstream(server, "secureConnection");
  await upstream.listen();
  return { upstream, certificate, [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose]() };
}

test("a proxy speaks TLS to an https upstream, passes the client's end on and the answer back", { skip }, async () => {
  await using tls = await tlsUpstream();
  await using proxy = await startProxy(`https://127.0.0.1:${tls.upstream.port}`, { ca: tls.certificate });
  const client = proxy.connect();
  client.socket.end("request");
  const server = await tls.upstream.next();
  await server.untilEnd();
  assert.equal(server.text, "request");
  server.socket.write("first ");
  await client.until((text) => text === "first ");
  server.socket.end("last");
  await client.closed;
  assert.equal(client.text, "first last");
});

test("a proxy closes the client when a TLS upstream ends, and the server when the client is gone", { skip }, async () => {
  await using tls = await tlsUpstream();
  await using proxy = await startProxy(`https://127.0.0.1:${tls.upstream.port}`, { ca: tls.certificate });
  const first = proxy.connect();
  (await tls.upstream.next()).socket.end("bye");
  await untilClosedInFull(first);
  assert.equal(first.text, "bye");
  const second = proxy.connect();
  second.socket.write("x");
  const server = await tls.upstream.next();
  await server.until((text) => text === "x");
  second.socket.destroy();
  await server.untilEnd();
});

test("a proxy sends nothing to an upstream whose certificate it doesn't trust", { skip }, async () => {
  await using tls = await tlsUpstream();
  await using proxy = await startProxy(`https://127.0.0.1:${tls.upstream.port}`);
  const client = proxy.connect();
  client.socket.write("secret");
  await untilClosedInFull(client);
  await proxy.logged("upstream-away");
  assert.match(proxy.log[0] ?? "", /error=DEPTH_ZERO_SELF_SIGNED_CERT see/u);
});
