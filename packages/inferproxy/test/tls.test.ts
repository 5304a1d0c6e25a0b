import assert from "node:assert/strict";
import { test } from "node:test";
import { startProxy, untilClosedInFull } from "./support/peers.ts";
import { withoutTls as skip, tlsUpstream } from "./support/tls-upstream.ts";

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

for (const [why, name, trusted, code] of [
  ["it doesn't trust", "IP:127.0.0.1", false, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["is another's", "DNS:other.test", true, "ERR_TLS_CERT_ALTNAME_INVALID"],
] as const) {
  test(`a proxy sends nothing to an upstream whose certificate ${why}, and tells the client`, { skip }, async () => {
    await using tls = await tlsUpstream(name);
    await using proxy = await startProxy(`https://127.0.0.1:${tls.upstream.port}`, { ca: trusted ? tls.certificate : null });
    const client = proxy.connect();
    client.socket.write("secret");
    await client.until((text) => text.includes("inferproxy_upstream_away"));
    client.socket.destroy();
    await proxy.logged("upstream-away");
    assert.ok(proxy.log.join("").includes(` error=${code} see=`));
    assert.equal(tls.received(), "");
  });
}
