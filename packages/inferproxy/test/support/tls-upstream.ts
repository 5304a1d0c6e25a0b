/** Inference servers that speak TLS, with a certificate made for the test. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer } from "node:tls";
import { ScriptedUpstream, scratch } from "./peers.ts";

/** Why no certificate can be made here, or false. */
export const withoutTls = spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed";

/** A TLS server on 127.0.0.1 with a certificate of its own for the address `name`. */
export async function tlsUpstream(
  name = "IP:127.0.0.1",
): Promise<
  AsyncDisposable & { readonly upstream: ScriptedUpstream; readonly certificate: string; readonly received: () => string }
> {
  await using directory = await scratch();
  const key = join(directory.path, "key.pem");
  const cert = join(directory.path, "cert.pem");
  const subject = ["-subj", "/CN=infer.test", "-addext", `subjectAltName=${name}`, "-days", "2"];
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
  let received = "";
  // What comes before the client has judged the certificate would be seen here as well.
  server.on("secureConnection", (socket) => {
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
  });
  const upstream = new ScriptedUpstream(server, "secureConnection");
  await upstream.listen();
  return { upstream, certificate, received: () => received, [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose]() };
}
