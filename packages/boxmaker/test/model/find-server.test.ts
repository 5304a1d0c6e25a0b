import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { test } from "node:test";
import { baseAddress, findServer, probeServer } from "../../src/model/find-server.ts";
import { parseListeners } from "../../src/model/listeners.ts";

/** What `probeServer` makes of a server that answers like this. */
async function probe(answer: RequestListener): Promise<Awaited<ReturnType<typeof probeServer>>> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("expected a TCP address");
  try {
    const found = await probeServer(`http://127.0.0.1:${address.port}`);
    return found === undefined ? undefined : { ...found, url: "" };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("probeServer() takes the first model of an OpenAI-compatible server, whatever else it says", async () => {
  const list = { object: "list", data: [{ id: "qwen", meta: { n_params: 1.5 } }, { id: "other" }] };
  assert.deepEqual(await probe((_request, response) => response.end(JSON.stringify(list))), { url: "", model: "qwen" });
});

test("probeServer() doesn't take what is no model server", async () => {
  const bodies = [
    "<html>",
    "{}",
    '{"data":[]}',
    '{"data":[{"name":"x"}]}',
    '{"data":{"id":"x"}}',
    `{"data":[{"id":"${"x".repeat(2_000_000)}"}]}`,
  ];
  for (const body of bodies) assert.equal(await probe((_request, response) => response.end(body)), undefined, body.slice(0, 20));
  assert.equal(
    await probe((_request, response) => {
      response.statusCode = 404;
      response.end('{"data":[{"id":"x"}]}');
    }),
    undefined,
  );
  assert.equal(await probe((request) => request.socket.destroy()), undefined);
  assert.equal(await probe((_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()), undefined);
});

test("findServer() asks no listener that belongs to another user", async () => {
  const stranger = (process.getuid?.() ?? 0) + 12_345;
  assert.equal(await findServer([{ port: 8080, uid: stranger }]), undefined);
  assert.equal(await findServer([]), undefined);
});

test("parseListeners() finds what listens on loopback, with its user, in both tables", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1
   1: 00000000:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0A00007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 3
   3: 0100007F:1F92 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4
`;
  assert.deepEqual(parseListeners(table), [
    { port: 8080, uid: 1000 },
    { port: 11434, uid: 0 },
  ]);
  const table6 = `  sl  local_address
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 1000 0 1
   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 1
`;
  assert.deepEqual(parseListeners(table6), [
    { port: 8080, uid: 1000 },
    { port: 80, uid: 0 },
  ]);
  assert.deepEqual(parseListeners(""), []);
});

test("baseAddress() takes an address with or without /v1, and nothing that has more to it", () => {
  for (const [text, address] of [
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://localhost:11434/v1", "http://localhost:11434"],
    ["https://models.example/v1/", "https://models.example"],
    ["http://[::1]:8000/", "http://[::1]:8000"],
  ] as const)
    assert.equal(baseAddress(text), address, text);
  for (const text of [
    "",
    "nonsense",
    "127.0.0.1:8080",
    "localhost:8080",
    "file:///v1",
    "http://host/v2",
    "http://host/v1/models",
    "http://me@host",
    "http://:secret@host",
    "http://host/?key=1",
    "http://host/#v1",
  ])
    assert.equal(baseAddress(text), undefined, text);
});
