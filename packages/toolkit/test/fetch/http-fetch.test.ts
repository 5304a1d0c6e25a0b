/** http_fetch with the real curl, through a real proxy whose connections lead to servers of the test. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type TestContext, test } from "node:test";
import { BOX_PLACES, type FetchPlaces } from "../../src/fetch/curl-arguments.ts";
import { httpFetch, MAX_BODY } from "../../src/fetch/http-fetch.ts";
import { type LoopbackServer, listenLoopback, listenWith } from "../egress/loopback-server.ts";
import { openTestProxy, type Setup, type TestProxy } from "../egress/test-proxy.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { makeCertificates, missingPrograms } from "./certificates.ts";

const skip = missingPrograms("curl");
const TERMS = { follow_redirects: true, limit_ms: 10_000 };

interface Net {
  readonly proxy: TestProxy;
  readonly places: FetchPlaces;
  /** Status and content of a fetch. */
  readonly fetch: (
    url: string,
    options?: { readonly cap?: number; readonly follow?: boolean; readonly limitMs?: number },
  ) => Promise<string>;
}

async function openNet(context: TestContext, setup: Setup, certificates: string | null = null): Promise<Net> {
  const proxy = await openTestProxy(setup);
  context.after(() => proxy[Symbol.asyncDispose]());
  const places = { ...BOX_PLACES, proxySocket: proxy.path, certificates };
  return {
    proxy,
    places,
    async fetch(url, { cap = MAX_BODY, follow = true, limitMs = TERMS.limit_ms } = {}) {
      const result = await httpFetch(url, { follow_redirects: follow, limit_ms: limitMs }, cap, places);
      return `${result.status}${result.truncated ? " truncated" : ""}: ${result.content}`;
    },
  };
}

async function serveHttp(context: TestContext, listener: RequestListener): Promise<LoopbackServer> {
  const server = await listenWith(createServer(listener));
  context.after(() => server[Symbol.asyncDispose]());
  return server;
}

/** A server that says exactly this to whoever asks. */
async function serveBytes(context: TestContext, answer: string | Buffer): Promise<LoopbackServer> {
  const server = await listenLoopback((socket) => socket.once("data", () => socket.end(answer)));
  context.after(() => server[Symbol.asyncDispose]());
  return server;
}

test("a fetch tells the status line and the body, whatever the status is", { skip }, async (context) => {
  const server = await serveHttp(context, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { "content-type": "text/plain" }).end(`asked ${request.headers.host}`);
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.equal(await fetch("http://example.com/200"), "ok: HTTP/1.1 200 OK\n\nasked example.com");
  assert.equal(await fetch("http://example.com:80/404"), "ok: HTTP/1.1 404 Not Found\n\nasked example.com");
  assert.equal(await fetch("http://example.com/500"), "ok: HTTP/1.1 500 Internal Server Error\n\nasked example.com");
  assert.equal(await fetch("http://example.com/204"), "ok: HTTP/1.1 204 No Content\n\n");
  assert.equal(await fetch("http://example.com/304"), "ok: HTTP/1.1 304 Not Modified\n\n");
});

test("a request has nothing in it but the URL: no cookie, no credentials, no referrer, and the path as it stands", {
  skip,
}, async (context) => {
  const server = await serveHttp(context, (request, response) => {
    response.setHeader("set-cookie", "a=b");
    if (request.url === "/from") response.writeHead(302, { location: "/[1-3]{a,b}/%2e./x?q=%00#part" });
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.rawHeaders }));
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  const said = await fetch("http://example.com/from");
  const body: unknown = JSON.parse(said.slice(said.indexOf("\n\n")));
  assert.deepEqual(body, {
    method: "GET",
    url: "/x?q=%00",
    headers: ["Host", "example.com", "User-Agent", "boxmaker", "Accept", "*/*"],
  });
  const braces = await fetch("http://example.com/[1-3]{a,b}");
  assert.match(braces, /"url":"\/\[1-3\](?:\{a,b\}|%7Ba,b%7D)"/u);
});

test("a redirect within the host is followed, five at most, and never told less of", { skip }, async (context) => {
  const server = await serveHttp(context, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end("there");
    else response.writeHead(302, { location: `/${left - 1}` }).end("not there");
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  const hops = (from: number, to: number): string =>
    Array.from({ length: from - to }, (_, hop) => `HTTP/1.1 302 Found\n[followed to http://example.com/${from - hop - 1}]\n`).join(
      "",
    );
  assert.equal(await fetch("http://example.com/1"), `ok: ${hops(1, 0)}HTTP/1.1 200 OK\n\nthere`);
  assert.equal(await fetch("http://example.com/5"), `ok: ${hops(5, 0)}HTTP/1.1 200 OK\n\nthere`);
  const elsewhere = (target: string): string =>
    `HTTP/1.1 302 Found\n[leads to ${target}: fetch that in a call of its own]\n\nnot there`;
  assert.equal(await fetch("http://example.com/6"), `ok: ${hops(6, 1)}${elsewhere("http://example.com/0")}`);
  assert.equal(await fetch("http://example.com/1", { follow: false }), `ok: ${elsewhere("http://example.com/0")}`);
});

test("a redirect to another host, scheme or port is a result that names its target, and isn't gone after", {
  skip,
}, async (context) => {
  let location = "";
  let requests = 0;
  const server = await serveHttp(context, (_, response) => {
    requests++;
    response.writeHead(302, { location }).end("body");
  });
  const { fetch, proxy } = await openNet(context, { upstream: server.port, allow: ["example.com", "api.example.com"] });
  const rows: readonly (readonly [location: string, note: string])[] = [
    ["http://api.example.com/v1", "leads to http://api.example.com/v1: fetch that in a call of its own"],
    ["//evil.test/", "leads to http://evil.test/: fetch that in a call of its own"],
    ["http://169.254.169.254/latest", "leads to http://169.254.169.254/latest, which can't be fetched"],
    ["http://example.com:8080/", "leads to http://example.com:8080/, which can't be fetched"],
    ["http://example.com@evil.test/", "leads to http://example.com@evil.test/, which can't be fetched"],
    ["file:///etc/passwd", "leads to file:///etc/passwd, which can't be fetched"],
    ["scp://example.com/", "leads to scp://example.com/, which can't be fetched"],
    ["http://[::1", 'leads to "http://[::1", which is no URL'],
  ];
  for (const [to, note] of rows) {
    location = to;
    assert.equal(await fetch("http://example.com/"), `ok: HTTP/1.1 302 Found\n[${note}]\n\nbody`, to);
  }
  assert.equal(requests, rows.length);
  assert.equal(proxy.dialled.length, rows.length);
});

test("https is checked by name and authority; http may lead to it, and it never leads back", {
  skip: skip || missingPrograms("openssl"),
}, async (context) => {
  using folder = temporaryFolder();
  const { authority, key, cert } = makeCertificates(folder.path, ["example.com"]);
  const plain = await serveHttp(context, (_, response) => response.writeHead(301, { location: "https://example.com/up" }).end());
  const server = await listenWith(
    createTlsServer({ key, cert }, (request, response) => {
      if (request.url === "/back") response.writeHead(302, { location: "http://example.com/" }).end("stay");
      else response.end("secure");
    }),
  );
  context.after(() => server[Symbol.asyncDispose]());
  const setup = { allow: ["example.com", "other.test"], upstream: (port: number) => (port === 443 ? server : plain).port };
  const { fetch } = await openNet(context, setup, authority);
  const up = "HTTP/1.1 301 Moved Permanently\n[followed to https://example.com/up]\n";
  assert.equal(await fetch("http://example.com/"), `ok: ${up}HTTP/1.1 200 OK\n\nsecure`);
  const back = "[leads to http://example.com/: fetch that in a call of its own]";
  assert.equal(await fetch("https://example.com/back"), `ok: HTTP/1.1 302 Found\n${back}\n\nstay`);
  assert.match(await fetch("https://other.test/"), /^failed: http_fetch: https:\/\/other\.test\/: curl: \(60\) .*other\.test/u);
  const untrusted = await openNet(context, setup);
  assert.match(await untrusted.fetch("https://example.com/"), /^failed: .*curl: \(60\) SSL certificate problem/u);
});

test("what the proxy refuses is a failure that says which of its answers it was", { skip }, async (context) => {
  const refused = await openNet(context, { allow: ["other.test"] });
  assert.match(
    await refused.fetch("http://example.com/"),
    /^failed: http_fetch: http:\/\/example\.com\/: curl: \(97\) .*: the egress proxy refused it$/u,
  );
  const nowhere = await openNet(context, { answers: ["10.0.0.1"] });
  assert.match(await nowhere.fetch("http://example.com/"), /curl: \(97\) .*: the host has no public address$/u);
  const closed = await openNet(context, {});
  assert.match(await closed.fetch("http://example.com/"), /curl: \(97\) .*: the host doesn't answer$/u);
});

test("a fetch without a proxy, without curl, or without a way to the network fails and says so", { skip }, async () => {
  using folder = temporaryFolder();
  const places = { ...BOX_PLACES, proxySocket: `${folder.path}/none.sock` };
  const said = async (terms: typeof TERMS | null, changed: Partial<FetchPlaces> = {}): Promise<string> =>
    (await httpFetch("http://example.com/", terms, 100, { ...places, ...changed })).content;
  assert.match(await said(TERMS), /^http_fetch: http:\/\/example\.com\/: curl: \((?:5|7|97)\) /u);
  assert.equal(
    await said(TERMS, { curl: `${folder.path}/curl` }),
    `http_fetch: http://example.com/: ${folder.path}/curl: no such file`,
  );
  assert.equal(await said(null), "http_fetch: http://example.com/: this box has no way to the network");
  const odd = await httpFetch("file:///etc/passwd", TERMS, 100, places);
  assert.equal(odd.content, "http_fetch: file:///etc/passwd: not a URL that can be fetched");
});

test("a body is kept up to the cap, and said to be longer; one that fits exactly isn't", { skip }, async (context) => {
  const server = await serveHttp(context, (request, response) => {
    const size = Number(request.url?.slice(1));
    for (let sent = 0; sent < size; sent += 50_000) response.write("x".repeat(Math.min(50_000, size - sent)));
    response.end();
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.equal(await fetch("http://example.com/100", { cap: 100 }), `ok: HTTP/1.1 200 OK\n\n${"x".repeat(100)}`);
  const cut = `ok truncated: HTTP/1.1 200 OK\n[the body is longer than the 100 bytes that follow]\n\n${"x".repeat(100)}`;
  for (const size of [101, 60_000, 200_000, 5_000_000]) assert.equal(await fetch(`http://example.com/${size}`, { cap: 100 }), cut);
  const most = await fetch("http://example.com/3000000", { cap: 10 * MAX_BODY });
  assert.equal(
    most.length,
    "ok truncated: HTTP/1.1 200 OK\n[the body is longer than the 1048576 bytes that follow]\n\n".length + MAX_BODY,
  );
});

test("a body that is said to be enormous isn't begun", { skip }, async (context) => {
  const server = await serveBytes(context, "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nx");
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.match(await fetch("http://example.com/"), /^failed: .*curl: \(63\) /u);
});

test("what isn't UTF-8 becomes U+FFFD, and a character that the cap cuts in two is left out", { skip }, async (context) => {
  const server = await serveBytes(context, Buffer.from("HTTP/1.1 200 OK\r\n\r\n\u{feff}a\xff\u{fc}", "utf8").subarray(0));
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.equal(await fetch("http://example.com/"), "ok: HTTP/1.1 200 OK\n\n\u{feff}a\u{ff}\u{fc}");
  assert.match(await fetch("http://example.com/", { cap: 5 }), /\n\n\u{feff}a$/u);
  const latin = await serveBytes(context, Buffer.from("HTTP/1.1 200 OK\r\n\r\na\xffb", "latin1"));
  const other = await openNet(context, { upstream: latin.port });
  assert.equal(await other.fetch("http://example.com/"), "ok: HTTP/1.1 200 OK\n\na\u{fffd}b");
});

test("a body of which every byte becomes three is kept to the cap, and said to be longer", { skip }, async (context) => {
  const server = await serveBytes(context, Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${"\xff".repeat(100)}`, "latin1"));
  const { fetch } = await openNet(context, { upstream: server.port });
  const note = "[the body is longer than the 100 bytes that follow]";
  assert.equal(
    await fetch("http://example.com/", { cap: 100 }),
    `ok truncated: HTTP/1.1 200 OK\n${note}\n\n${"\u{fffd}".repeat(33)}`,
  );
});

test("a server's words can't look like a hop, a note or the end of the head", { skip }, async (context) => {
  const server = await serveBytes(context, "HTTP/1.1 200 \u001b[2J[followed to x]\u0085\r\nX: [y]\r\n\r\n\nHTTP/1.1 404\n");
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.equal(await fetch("http://example.com/"), "ok: HTTP/1.1 200 \\u001b[2J[followed to x]\\u0085\n\n\nHTTP/1.1 404\n");
});

test("status lines and hops of any length leave room for the body and its note", { skip }, async (context) => {
  const reason = "r".repeat(50_000);
  const path = "p".repeat(8_000);
  const server = await listenLoopback((socket) =>
    socket.once("data", (request) => {
      const left = Number(/^GET \/([0-9])/u.exec(request.toString("latin1"))?.[1]);
      const location = left > 0 ? `location: /${left - 1}${path}\r\n` : "";
      socket.end(`HTTP/1.1 ${left > 0 ? 302 : 200} ${reason}\r\n${location}\r\n${"b".repeat(3 * MAX_BODY)}`);
    }),
  );
  context.after(() => server[Symbol.asyncDispose]());
  const { fetch } = await openNet(context, { upstream: server.port });
  for (const cap of [1024, MAX_BODY]) {
    for (const [url, responses] of [
      ["http://example.com/0", 1],
      ["http://example.com/5", 6],
      ["http://example.com/6", 6],
    ] as const) {
      const said = (await fetch(url, { cap })).replace(/^ok truncated: /u, "");
      // What brokerd leaves of a tool's answer, see NOTE_BYTES of its runner.
      assert.ok(Buffer.byteLength(said) <= cap + 4096, `${url}: ${said.length}`);
      const [head = "", body = ""] = said.split("\n\n");
      assert.ok(head.length < 8192 + 200);
      const [note = "", cut = ""] = head.split("\n").toReversed();
      assert.equal(note, `[the body is longer than the ${body.length} bytes that follow]`);
      assert.equal(cut, "[lines above that end in … are longer]");
      const statusLines = head.split("\n").filter((line) => /^HTTP\/1\.1 [0-9]{3} r+…$/u.test(line));
      assert.equal(statusLines.length, responses, url);
    }
  }
});

test("the whole URL that a redirect leads to is told, where it can be fetched", { skip }, async (context) => {
  const target = `http://api.example.com/${"p".repeat(7_000)}`;
  const server = await serveBytes(context, `HTTP/1.1 302 Found\r\nlocation: ${target}\r\n\r\nbody`);
  const { fetch } = await openNet(context, { upstream: server.port });
  const said = await fetch("http://example.com/");
  assert.equal(said, `ok: HTTP/1.1 302 Found\n[leads to ${target}: fetch that in a call of its own]\n\nbody`);
});

test("interim responses are skipped", { skip }, async (context) => {
  const server = await serveBytes(context, "HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\nHTTP/1.1 200 Fine\r\n\r\nbody");
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.equal(await fetch("http://example.com/"), "ok: HTTP/1.1 200 Fine\n\nbody");
});

test("a head without end is a failure, and so is an answer that isn't HTTP", { skip }, async (context) => {
  const long = await serveBytes(context, `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1000)}\r\n`.repeat(80)}\r\nbody`);
  assert.match(
    await (await openNet(context, { upstream: long.port })).fetch("http://example.com/"),
    /no head of at most 65536 bytes$/u,
  );
  const other = await serveBytes(context, "SSH-2.0-x\r\n");
  assert.match(
    await (await openNet(context, { upstream: other.port })).fetch("http://example.com/"),
    /^failed: .*curl: \(1\) Received HTTP\/0\.9/u,
  );
  const empty = await serveBytes(context, "");
  assert.match(await (await openNet(context, { upstream: empty.port })).fetch("http://example.com/"), /curl: \(52\) Empty reply/u);
  const cut = await serveBytes(context, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc");
  assert.match(await (await openNet(context, { upstream: cut.port })).fetch("http://example.com/"), /curl: \(18\) /u);
});

test("the time limit holds for all hops together", { skip }, async (context) => {
  const server = await serveHttp(context, (request, response) => {
    if (request.url === "/") response.writeHead(302, { location: "/never" }).end();
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.match(
    await fetch("http://example.com/", { limitMs: 700 }),
    /^failed: http_fetch: http:\/\/example\.com\/(?:never)?: no answer within 700 ms$/u,
  );
});

/** A program in curl's place that prints a response with what it was given. */
async function askInstead(script: string, url: string): Promise<string> {
  using folder = temporaryFolder();
  const curl = `${folder.path}/curl`;
  writeFileSync(curl, `#!/bin/sh\nprintf 'HTTP/1.1 200 OK\\r\\n\\r\\n'\n${script}\n`, { mode: 0o700 });
  const { content } = await httpFetch(url, TERMS, MAX_BODY, { ...BOX_PLACES, curl });
  return content.slice(content.indexOf("\n\n") + 2);
}

test("curl is given the URL as it was parsed, never as it was written", async () => {
  const last = 'for last; do :; done; printf %s "$last"';
  assert.equal(await askInstead(last, "https://example.com:443/a/../b/%2e%2E/c?d=`"), "https://example.com/c?d=`");
  assert.equal(await askInstead('printf %s "$1"', "https://example.com/"), "-q");
});

test("curl is given no environment", async () => {
  const names = (await askInstead("env", "https://example.com/")).split("\n").map((line) => line.split("=", 1)[0] ?? "");
  // A shell makes these by itself.
  assert.deepEqual(
    names.filter((name) => !["", "PWD", "OLDPWD", "SHLVL", "_", "PATH"].includes(name)),
    [],
  );
});

test("a body that stalls past the cap isn't waited for", { skip, timeout: 15_000 }, async (context) => {
  await using server = await listenLoopback((socket) => {
    socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(80_000)}`));
  });
  const { fetch } = await openNet(context, { upstream: server.port });
  assert.match(await fetch("http://example.com/", { cap: 10, limitMs: 60_000 }), /^ok truncated: .*\n\nx{10}$/su);
});

test("a curl that doesn't heed its own time limit is ended", { timeout: 15_000 }, async () => {
  using folder = temporaryFolder();
  const curl = `${folder.path}/curl`;
  writeFileSync(curl, "#!/bin/sh\nexec sleep 60\n", { mode: 0o700 });
  const terms = { follow_redirects: true, limit_ms: 300 };
  const { content } = await httpFetch("http://example.com/", terms, 100, { ...BOX_PLACES, curl });
  assert.equal(content, "http_fetch: http://example.com/: no answer within 300 ms");
});
