import assert from "node:assert/strict";
import { test } from "node:test";
import { BoxDone, BoxRun, canonicalJson, decodeMessage, encodeMessage, MAX_FRAME } from "@boxmaker/proto";
import fc from "fast-check";
import { readRunBody } from "../src/frame-in.ts";
import { encodeDone } from "../src/frame-out.ts";

const RUNS = [
  {
    request: { tool: "read_file", arguments: { path: "/a/b" } },
    roots: ["/a"],
    mounts: [{ path: "/a", source: "1:2", shown: true }],
    output_cap: 1,
    fetch: null,
  },
  { request: { tool: "write_file", arguments: { path: "/a/b", content: "" } }, roots: [], mounts: [], output_cap: 1, fetch: null },
  { request: { tool: "shell", arguments: { command: "ls" } }, roots: ["/a", "/b"], mounts: null, output_cap: 5, fetch: null },
  {
    request: { tool: "shell", arguments: { command: "ls", cwd: "/a" } },
    roots: ["/a", "/b"],
    mounts: null,
    output_cap: 5,
    fetch: null,
  },
  {
    request: { tool: "http_fetch", arguments: { url: "https://example.com/" } },
    roots: [],
    mounts: [],
    output_cap: 5,
    fetch: null,
  },
  {
    request: { tool: "http_fetch", arguments: { url: "https://example.com/" } },
    roots: [],
    mounts: null,
    output_cap: 5,
    fetch: { follow_redirects: true, limit_ms: 1 },
  },
] as const;

function read(value: unknown): string {
  return readRunBody(Buffer.from(JSON.stringify(value))).kind;
}

test("the box's own reader reads what the schema encodes", () => {
  for (const body of RUNS) {
    const message = BoxRun.parse({ kind: "box_run", body });
    const reading = readRunBody(encodeMessage(BoxRun, { id: 7, final: true, message }).subarray(4));
    assert.deepEqual(reading, { kind: "run", id: 7, body });
  }
});

test("the box's own reader refuses every key that is added, left out, or of another type, as the schema does", () => {
  const replacements = [null, 0, -1, 1.5, "", "relative", "/a/../b", "/a/", "1:", "1:23456789012345678901", [], {}, true];
  const mutate = (value: unknown): readonly unknown[] => {
    const others = replacements.filter((other) => JSON.stringify(other) !== JSON.stringify(value));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return others;
    const keys = Object.entries(value);
    return [
      ...others,
      { ...value, extra: 1 },
      ...keys.map(([key]) => Object.fromEntries(keys.filter(([other]) => other !== key))),
      ...keys.flatMap(([key, inner]) => mutate(inner).map((changed) => ({ ...value, [key]: changed }))),
    ];
  };
  for (const body of RUNS) {
    for (const changed of mutate(body)) {
      const expected = BoxRun.safeParse({ kind: "box_run", body: changed }).success ? "run" : "misuse";
      const got = read({ v: 1, id: 1, final: true, kind: "box_run", body: changed });
      // URLs are curl's to judge, which this reader doesn't: brokerd has, and the proxy will.
      const onlyUrl = body.request.tool === "http_fetch" && expected === "misuse" && got === "run";
      if (!onlyUrl) assert.equal(got, expected, canonicalJson({ changed }));
    }
  }
});

test("the box's own reader refuses other envelopes", () => {
  const [body] = RUNS;
  const good = { v: 1, id: 1, final: true, kind: "box_run", body };
  assert.equal(read(good), "run");
  for (const change of [{ v: 2 }, { id: -1 }, { final: 1 }, { kind: "box_done" }, { extra: 0 }]) {
    assert.equal(read({ ...good, ...change }), "misuse");
  }
  assert.equal(readRunBody(Buffer.from('{"v":1,"v":1}')).kind, "misuse");
});

test("the box's own reader survives any bytes", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => readRunBody(bytes).kind === "misuse"));
});

test("the answer is what the schema reads, however hostile the content", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.boolean(), (content, truncated) => {
      const frame = encodeDone(3, { status: "ok", content, truncated });
      const decoded = decodeMessage(BoxDone, frame.subarray(4));
      assert.equal(decoded.kind, "message");
    }),
  );
  const lone = decodeMessage(BoxDone, encodeDone(3, { status: "failed", content: "a\ud800b", truncated: false }).subarray(4));
  assert.ok(lone.kind === "message" && lone.envelope.message.body.content === "a\u{FFFD}b");
});

test("the largest output, of bytes that JSON writes six times as long, fits into a frame", () => {
  assert.ok(encodeDone(1, { status: "ok", content: "\u0001".repeat(1024 * 1024 + 100), truncated: true }).length < MAX_FRAME);
});
