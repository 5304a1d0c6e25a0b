import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_HEAD, readResponse } from "../../src/fetch/response.ts";

function read(text: string): unknown {
  const response = readResponse(Buffer.from(text));
  return response === undefined ? undefined : { ...response, body: response.body.toString() };
}

test("a response is its last head, read with either kind of line end, and the rest", () => {
  const expected = { statusLine: "HTTP/1.1 200 OK", status: 200, location: null, body: "a\r\n\r\nb" };
  assert.deepEqual(read("HTTP/1.1 200 OK\r\nx: y\r\n\r\na\r\n\r\nb"), expected);
  assert.deepEqual(read("HTTP/1.1 200 OK\nx: y\n\na\r\n\r\nb"), expected);
  assert.deepEqual(read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\na\r\n\r\nb"), expected);
});

test("the first location counts, without the blanks around it, in whatever case its name is", () => {
  const location = (fields: string): unknown => readResponse(Buffer.from(`HTTP/1.1 302\r\n${fields}\r\n\r\n`))?.location;
  assert.equal(location("LOCATION: \t/a \r\nlocation: /b"), "/a");
  assert.equal(location("location:"), "");
  assert.equal(location("x-location: /a\r\n location: /b"), null);
});

test("a head that isn't one of HTTP, has no end, or ends too late is none", () => {
  for (const text of [
    "",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nx: y",
    "HTTP/1.1 20 OK\r\n\r\n",
    "ICY 200 OK\r\n\r\n",
    "\r\n\r\n",
  ]) {
    assert.equal(read(text), undefined, text);
  }
  const sized = (size: number): string => `HTTP/1.1 200 OK\r\nx: ${"y".repeat(size - 24)}\r\n\r\nbody`;
  assert.notEqual(read(sized(MAX_HEAD)), undefined);
  assert.equal(read(sized(MAX_HEAD + 1)), undefined);
  assert.equal(read("HTTP/1.1 100 Continue\r\n\r\n".repeat(5000)), undefined);
});

test("any bytes are read without an error, and a body is a part of them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const bytes = Buffer.from(`HTTP/1.1 200 ${text}\r\n\r\n${text}`);
      const response = readResponse(bytes);
      if (response !== undefined) assert.ok(bytes.subarray(-response.body.length || bytes.length).equals(response.body));
    }),
  );
});
