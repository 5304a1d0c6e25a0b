import assert from "node:assert/strict";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { openLog } from "@boxmaker/edge/log";
import { Events } from "../src/events.ts";
import { readApiKey } from "../src/start/api-key.ts";
import { parseOptions } from "../src/start/options.ts";
import { parseUpstreamUrl } from "../src/start/upstream-url.ts";
import { scratch } from "./support/peers.ts";

const GOOD = ["--listen", "/run/infer.sock", "--upstream", "http://127.0.0.1:8080"];

test("parseOptions() reads every flag", () => {
  const args = ["--listen", "/run/i.sock", "--upstream", "https://infer.example:8443", "--api-key-file", "/k", "--ca-file", "/c"];
  assert.deepEqual(parseOptions([...args, "--max-connections", "3", "--rate", "4", "--burst", "5"]), {
    kind: "options",
    options: {
      listenPath: "/run/i.sock",
      upstream: {
        url: "https://infer.example:8443",
        transport: "tls",
        host: "infer.example",
        port: 8443,
        authority: "infer.example:8443",
      },
      apiKeyFile: "/k",
      caFile: "/c",
      limits: { maxConnections: 3, ratePerSecond: 4, burst: 5 },
    },
  });
});

test("parseOptions() has limits of its own where none are named", () => {
  const result = parseOptions(GOOD);
  assert.ok(result.kind === "options");
  assert.deepEqual(result.options.limits, { maxConnections: 32, ratePerSecond: 20, burst: 40 });
});

for (const flag of ["--max-connections", "--rate", "--burst"]) {
  for (const value of ["0", "00", "-1", "1.5", "1e3", "", " 1", "١", "100001", "999999999999"]) {
    test(`parseOptions() refuses ${flag} ${JSON.stringify(value)}`, () => {
      assert.equal(parseOptions([...GOOD, `${flag}=${value}`]).kind, "wrong");
    });
  }
}

const WRONG: readonly (readonly [why: string, args: readonly string[]])[] = [
  ["no arguments", []],
  ["no upstream", ["--listen", "/x"]],
  ["no socket", ["--upstream", "http://h"]],
  ["a relative socket", ["--listen", "x.sock", "--upstream", "http://h"]],
  ["a directory", ["--listen", "/run/", "--upstream", "http://h"]],
  ["a path too long for a socket", ["--listen", `/${"a".repeat(107)}`, "--upstream", "http://h"]],
  ["an unknown flag", [...GOOD, "--colour", "red"]],
  ["a positional argument", [...GOOD, "more"]],
  ["certificates without TLS", [...GOOD, "--ca-file", "/c"]],
];
for (const [why, args] of WRONG) {
  test(`parseOptions() refuses ${why}`, () => {
    const result = parseOptions(args);
    assert.ok(result.kind === "wrong");
    assert.doesNotMatch(result.problem, /\n/u);
  });
}

test("parseOptions() doesn't repeat an upstream that holds a password", () => {
  const result = parseOptions(["--listen", "/x", "--upstream", "http://me:hunter2@h"]);
  assert.ok(result.kind === "wrong");
  assert.doesNotMatch(result.problem, /hunter2/u);
});

test("parseUpstreamUrl() knows default ports, IPv6 addresses and a bare slash", () => {
  assert.equal(parseUpstreamUrl("http://h")?.port, 80);
  assert.equal(parseUpstreamUrl("https://h/")?.port, 443);
  assert.deepEqual(parseUpstreamUrl("http://[::1]:8080"), {
    url: "http://[::1]:8080",
    transport: "tcp",
    host: "::1",
    port: 8080,
    authority: "[::1]:8080",
  });
});

for (const text of [
  "",
  "h:80",
  "ftp://h",
  "http://",
  "http://h/v1",
  "http://h?x",
  "http://h#x",
  "http://u@h",
  "http://h:0",
  "http://h:99999",
  "http://h\\x",
  "unix:/x",
  "http://a b",
]) {
  test(`parseUpstreamUrl() refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseUpstreamUrl(text), undefined);
  });
}

test("readApiKey() reads one line and shows the key nowhere but in the header's value", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "key");
  await writeFile(path, "s3cret\n", { mode: 0o600 });
  const result = await readApiKey(path);
  assert.ok(result.kind === "key");
  assert.equal(result.key.authorization(), "Bearer s3cret");
  assert.doesNotMatch(`${inspect(result, { depth: 9, showHidden: true })}${JSON.stringify(result)}`, /s3cret/u);
});

const BAD_KEYS: readonly (readonly [why: string, make: (path: string) => Promise<unknown>])[] = [
  ["that isn't there", async () => undefined],
  ["that everybody may read", async (path) => writeFile(path, "k").then(() => chmod(path, 0o644))],
  ["that is empty", (path) => writeFile(path, "", { mode: 0o600 })],
  ["with two lines", (path) => writeFile(path, "a\nb\n", { mode: 0o600 })],
  ["with a space", (path) => writeFile(path, "a b", { mode: 0o600 })],
  ["that isn't ASCII", (path) => writeFile(path, "schlüssel", { mode: 0o600 })],
  ["that is too long", (path) => writeFile(path, "a".repeat(4097), { mode: 0o600 })],
  ["that is a directory", (path) => mkdir(path, { mode: 0o700 })],
  ["that links to nothing", (path) => symlink(`${path}.gone`, path)],
];
for (const [why, make] of BAD_KEYS) {
  test(`readApiKey() refuses a file ${why}`, async () => {
    await using directory = await scratch();
    const path = join(directory.path, "key");
    await make(path);
    const result = await readApiKey(path);
    assert.ok(result.kind === "refused");
    assert.equal(result.refusal.runbook, "docs/runbook.md#inferproxy-api-key");
  });
}

test("Events writes one line per event and escapes what a peer could have chosen", () => {
  const lines: string[] = [];
  const events = new Events(
    openLog(
      (line) => lines.push(line),
      () => 0,
    ),
  );
  events.upstreamAway(7, "http://h:1", "E\n\u202eX");
  events.listenerError("EMFILE");
  events.stopping("SIGTERM");
  assert.deepEqual(lines, [
    '1970-01-01T00:00:00.000Z warn upstream-away connection=7 upstream=http://h:1 error="E\\u000a\\u202eX" see="docs/runbook.md#inferproxy-upstream-away"\n',
    '1970-01-01T00:00:00.000Z error listener-error error=EMFILE see="docs/runbook.md#inferproxy-socket"\n',
    "1970-01-01T00:00:00.000Z info stopping signal=SIGTERM\n",
  ]);
});
