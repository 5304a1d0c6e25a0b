import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RequestEditor } from "../src/http/request-editor.ts";

const ADDED = { host: "infer.example:8443", authorization: "Bearer KEY" };

/** Pushes `text` cut at `cuts`; gives what was forwarded and why it was refused. */
function edit(text: string, cuts: readonly number[] = []): { readonly out: string; readonly refused: string | null } {
  const editor = new RequestEditor(ADDED);
  const bytes = Buffer.from(text, "latin1");
  const places = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].sort((a, b) => a - b);
  let out = "";
  let refused: string | null = null;
  for (const [index, start] of [0, ...places].entries()) {
    const step = editor.push(bytes.subarray(start, places[index] ?? bytes.length));
    out += Buffer.concat([...step.forward]).toString("latin1");
    refused = step.refused;
  }
  return { out, refused };
}

const BODY = '{"a":"\r\n\r\n"}';
const PIPELINED = [
  "GET /slots HTTP/1.1\r\nHost: box\r\n\r\n",
  `POST /a HTTP/1.1\r\nhost: box\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  "POST /b HTTP/1.1\r\nHost: box\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n\r\n\r\nA\r\n1\r\nB\r\n0\r\n\r\n",
  "POST /c HTTP/1.1\r\nHost: box\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nDigest: x\r\n\r\n",
  "GET /health HTTP/1.0\r\n\r\n",
].join("");
const EDITED = [
  "GET /slots HTTP/1.1\r\nHost: infer.example:8443\r\nAuthorization: Bearer KEY\r\n\r\n",
  `POST /a HTTP/1.1\r\nHost: infer.example:8443\r\nAuthorization: Bearer KEY\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  "POST /b HTTP/1.1\r\nHost: infer.example:8443\r\nAuthorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n\r\n\r\nA\r\n1\r\nB\r\n0\r\n\r\n",
  "POST /c HTTP/1.1\r\nHost: infer.example:8443\r\nAuthorization: Bearer KEY\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nDigest: x\r\n\r\n",
  "GET /health HTTP/1.0\r\nHost: infer.example:8443\r\nAuthorization: Bearer KEY\r\n\r\n",
].join("");

test("RequestEditor puts the key into every pipelined request and leaves bodies as they are", () => {
  assert.deepEqual(edit(PIPELINED), { out: EDITED, refused: null });
});

test("RequestEditor gives the same bytes when they come one at a time", () => {
  assert.deepEqual(
    edit(
      PIPELINED,
      Array.from({ length: PIPELINED.length }, (_, index) => index),
    ),
    { out: EDITED, refused: null },
  );
});

test("RequestEditor gives the same bytes for any split", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(PIPELINED.length), { maxLength: 20 }), (cuts) => {
      assert.deepEqual(edit(PIPELINED, cuts), { out: EDITED, refused: null });
    }),
  );
});

test("RequestEditor forwards the part of a body that has come", () => {
  const editor = new RequestEditor(ADDED);
  editor.push(Buffer.from("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n"));
  assert.equal(Buffer.concat([...editor.push(Buffer.from("abc")).forward]).toString(), "abc");
});

const REFUSED: readonly (readonly [why: string, request: string, reason: string])[] = [
  ["no HTTP", "\x16\x03\x01\x02\r\n\r\n", "malformed request line"],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\n", "malformed request line"],
  ["a tunnel", "CONNECT h:443 HTTP/1.1\r\n\r\n", "malformed request line"],
  ["a request to another server by way of this one", "GET http://other.test/ HTTP/1.1\r\n\r\n", "malformed request line"],
  ["a request without a path", "OPTIONS * HTTP/1.1\r\n\r\n", "malformed request line"],
  ["two spaces in the request line", "GET  / HTTP/1.1\r\n\r\n", "malformed request line"],
  ["an empty line first", "\r\n\r\nGET / HTTP/1.1\r\n\r\n", "malformed request line"],
  ["a folded header", "GET / HTTP/1.1\r\nA: b\r\n Authorization: x\r\n\r\n", "malformed header"],
  ["a space before the colon", "GET / HTTP/1.1\r\nAuthorization : x\r\n\r\n", "malformed header"],
  ["a bare line feed", "GET / HTTP/1.1\nAuthorization: x\r\n\r\n", "malformed request line"],
  ["a bare line feed in a header", "GET / HTTP/1.1\r\nA: b\nAuthorization: x\r\n\r\n", "malformed header"],
  ["a bare carriage return in a header", "GET / HTTP/1.1\r\nA: b\rAuthorization: x\r\n\r\n", "malformed header"],
  ["a header without a name", "GET / HTTP/1.1\r\n: b\r\n\r\n", "malformed header"],
  ["an upgrade", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "upgrade to another protocol"],
  ["too many headers", `GET / HTTP/1.1\r\n${"A: b\r\n".repeat(129)}\r\n`, "too many headers"],
  ["two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "unclear length of the body"],
  [
    "a length and chunks",
    "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "unclear length of the body",
  ],
  ["a signed length", "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "unclear length of the body"],
  ["an endless length", `POST / HTTP/1.1\r\nContent-Length: ${"9".repeat(16)}\r\n\r\n`, "unclear length of the body"],
  ["another coding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "unclear length of the body"],
  ["chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "unclear length of the body"],
  ["a length after another space than HTTP's", "POST / HTTP/1.1\r\nContent-Length: 1\xa0\r\n\r\n", "unclear length of the body"],
  [
    "chunks after another space than HTTP's",
    "POST / HTTP/1.1\r\nTransfer-Encoding:\xa0chunked\r\n\r\n",
    "unclear length of the body",
  ],
  ["a list of lengths", "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", "unclear length of the body"],
  ["an empty length", "POST / HTTP/1.1\r\nContent-Length: \r\n\r\n", "unclear length of the body"],
  ["a key of the client's own", "GET / HTTP/1.1\r\nauthorization: Bearer X\r\n\r\n", "credentials of the client's own"],
  ["a key for a proxy", "GET / HTTP/1.1\r\nProxy-Authorization: X\r\n\r\n", "credentials of the client's own"],
  ["a key under another name", "GET / HTTP/1.1\r\nX-API-KEY: X\r\n\r\n", "credentials of the client's own"],
  ["a NUL in a header", "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", "malformed header"],
  ["a head that never ends", `GET / HTTP/1.1\r\nA: ${"a".repeat(16 * 1024)}`, "head too long"],
  ["a head that ends too late", `GET / HTTP/1.1\r\nA: ${"a".repeat(16 * 1024)}\r\n\r\n`, "head too long"],
];
for (const [why, request, reason] of REFUSED) {
  test(`RequestEditor refuses ${why}, in one piece or byte by byte, and forwards nothing of it`, () => {
    assert.deepEqual(edit(request), { out: "", refused: reason });
    const editor = new RequestEditor(ADDED);
    let refused: string | null = null;
    for (const byte of Buffer.from(request, "latin1")) {
      const step = editor.push(Buffer.of(byte));
      assert.deepEqual(step.forward, []);
      refused ??= step.refused;
    }
    assert.equal(refused, reason);
  });
}

const BAD_CHUNKS: readonly (readonly [why: string, chunks: string, reason: string])[] = [
  ["a size that is no number", "x\r\n", "malformed chunk size"],
  ["a signed size", "-1\r\n", "malformed chunk size"],
  ["a size of nine digits", "123456789\r\n", "malformed chunk size"],
  ["an endless size line", `1;${"x".repeat(1024)}`, "chunk size line too long"],
  ["a chunk longer than its size", "1\r\nABGET / HTTP/1.1\r\n\r\n", "chunk longer than its size"],
  ["a trailer with a bare line feed", "0\r\nA: b\n\nGET / HTTP/1.1\r\n\r\n", "malformed trailer"],
  ["a key in the trailer", "0\r\nAuthorization: X\r\n\r\n", "malformed trailer"],
  ["a length in the trailer", "0\r\nContent-Length: 5\r\n\r\n", "malformed trailer"],
  ["a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", "malformed trailer"],
  ["too many trailers", `0\r\n${"A: b\r\n".repeat(129)}\r\n`, "too many headers"],
  ["an endless trailer", `0\r\nA: ${"a".repeat(16 * 1024)}`, "trailer too long"],
];
for (const [why, chunks, reason] of BAD_CHUNKS) {
  test(`RequestEditor refuses ${why}`, () => {
    assert.equal(edit(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`).refused, reason);
  });
}

test("RequestEditor forwards nothing more after a refusal", () => {
  const editor = new RequestEditor(ADDED);
  editor.push(Buffer.from("CONNECT x HTTP/1.1\r\n\r\n"));
  assert.deepEqual(editor.push(Buffer.from("GET / HTTP/1.1\r\n\r\n")), { forward: [], refused: "malformed request line" });
});

test("RequestEditor never throws, and takes any bytes the same way however they are split", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          "GET / HTTP/1.1\r\n",
          "Transfer-Encoding: chunked\r\n",
          "Content-Length: 3\r\n",
          "\r\n",
          "3\r\nabc\r\n",
          "0\r\n",
          "x",
        ),
      ),
      fc.array(fc.nat(200), { maxLength: 10 }),
      (parts, cuts) => {
        const text = parts.join("");
        const whole = edit(text);
        const split = edit(text, cuts);
        assert.equal(split.refused, whole.refused);
        assert.equal(split.out, whole.out);
      },
    ),
  );
});
