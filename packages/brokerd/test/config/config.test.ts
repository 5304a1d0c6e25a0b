import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sha256 } from "@boxmaker/proto";
import { type Config, readConfig } from "../../src/config/config.ts";
import { ownPlaces } from "../../src/config/own-places.ts";

async function read(
  text: string | Uint8Array,
  use: (reading: Awaited<ReturnType<typeof readConfig>>, folder: string) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-config-"));
  try {
    const file = join(folder, "brokerd.toml");
    writeFileSync(file, text);
    use(await readConfig(file), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function problemOf(text: string | Uint8Array): Promise<string> {
  let problem = "";
  await read(text, (reading) => {
    if (reading.kind === "ok") throw new Error("expected the configuration to be refused");
    problem = reading.problem;
  });
  assert.ok(!problem.includes("\n"));
  return problem;
}

async function accepted(text: string, use: (config: Config, folder: string) => void): Promise<void> {
  await read(text, (reading, folder) => {
    if (reading.kind === "invalid") throw new Error(reading.problem);
    use(reading.config, folder);
  });
}

test("readConfig() fills in every default from the home alone, relative to the file", async () => {
  await accepted('home = "box"\n', (config, folder) => {
    const home = join(folder, "box");
    assert.deepEqual(config, {
      file: join(folder, "brokerd.toml"),
      home,
      auditDirectory: join(home, "audit"),
      checkpoints: { keys: join(home, "broker"), every: 1000, command: null },
      lowSpaceBytes: 64 * 1024 * 1024,
      grantsDirectory: join(home, "etc/grants"),
      toolsFile: join(home, "etc/tools.toml"),
      labelsFile: join(home, "etc/labels.toml"),
      sockets: {
        broker: join(home, "run/broker/broker.sock"),
        brokerMcp: null,
        admin: join(home, "run/admin/admin.sock"),
        approval: null,
      },
      approvals: { ttlMs: 900_000, maxPending: 64, perHour: 120 },
      sessions: {
        taint: "public",
        untrusted: false,
        maxClass: "secret",
        memory: join(home, "memory/core.md"),
        memoryClass: "private",
        perMinute: 600,
      },
      limits: {
        connections: 256,
        bytes_in_flight: 64 * 1024 * 1024,
        read_deadline_ms: 10_000,
        write_deadline_ms: 10_000,
        stop_grace_ms: 5_000,
      },
      runner: null,
      sha256: sha256('home = "box"\n'),
    });
  });
});

test("readConfig() gives a table with some of its keys the defaults of the others", async () => {
  const text =
    'home = "/h"\n[approvals]\nttl_ms = 5\n[limits]\nconnections = 2\n[audit]\ndirectory = "log"\n[sockets]\nbroker_mcp = "mcp/m.sock"\napproval = "approval/a.sock"\n';
  await accepted(text, (config, folder) => {
    assert.deepEqual(config.approvals, { ttlMs: 5, maxPending: 64, perHour: 120 });
    assert.equal(config.limits.read_deadline_ms, 10_000);
    assert.equal(config.auditDirectory, join(folder, "log"));
    assert.equal(config.sockets.brokerMcp, join(folder, "mcp/m.sock"));
    assert.equal(config.sockets.approval, join(folder, "approval/a.sock"));
  });
});

for (const [name, text, expected] of [
  ["a missing home", "", /line 1: home: /u],
  ["an unknown key", 'home = "/h"\nhonme = 1\n', /line 2: unknown key "honme"/u],
  ["an unknown key of a table", 'home = "/h"\n[approvals]\nttl = 1\n', /line 3: unknown key "ttl"/u],
  ["a duplicate key", 'home = "/h"\nhome = "/i"\n', /line 2: /u],
  ["a ttl above a day", 'home = "/h"\n[approvals]\nttl_ms = 86400001\n', /line 3: approvals\.ttl_ms/u],
  ["a limit of zero", 'home = "/h"\n[limits]\nconnections = 0\n', /line 3: limits\.connections/u],
  ["a fraction", 'home = "/h"\n[limits]\nread_deadline_ms = 1.5\n', /line 3: a number with a fraction/u],
  ["room for less than a frame", 'home = "/h"\n[limits]\nbytes_in_flight = 1000\n', /line 3: limits\.bytes_in_flight/u],
  ["an unknown runtime", 'home = "/h"\n[runner]\nruntime = "docker"\n', /line 3: runner\.runtime/u],
  ["an unknown class", 'home = "/h"\n[sessions]\ntaint = "top"\n', /line 3: sessions\.taint/u],
  ["a path that can't be mounted", 'home = "/h:x"\n', /home: expected a path without ':' and ','/u],
  [
    "two sockets in one directory",
    'home = "/h"\n[sockets]\nbroker = "/r/b.sock"\nadmin = "/r/a.sock"\n',
    /a directory of its own/u,
  ],
  ["a socket below another's directory", 'home = "/h"\n[sockets]\nbroker = "/h/run/b.sock"\n', /none inside of another/u],
  ["the audit log below a socket's directory", 'home = "/h"\n[audit]\ndirectory = "/h/run/admin/log"\n', /none inside of another/u],
  ["a socket among the grants", 'home = "/h"\n[sockets]\nadmin = "/h/etc/grants/a.sock"\n', /a directory of its own/u],
] as const) {
  test(`readConfig() refuses ${name}, naming where`, async () => {
    assert.match(await problemOf(text), expected);
  });
}

test("readConfig() refuses two sockets whose directories are one by way of a link, there or to be made", async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-config-"));
  try {
    mkdirSync(join(folder, "one"));
    symlinkSync("one", join(folder, "two"));
    const file = join(folder, "brokerd.toml");
    for (const [broker, admin] of [
      ["one/b.sock", "two/a.sock"],
      ["one/new/b.sock", "two/new/a.sock"],
      ["one/b.sock", "two/new/a.sock"],
    ]) {
      writeFileSync(file, `home = "h"\n[sockets]\nbroker = "${broker}"\nadmin = "${admin}"\n`);
      const reading = await readConfig(file);
      assert.match(reading.kind === "invalid" ? reading.problem : "", /none inside of another/u);
    }
    writeFileSync(file, 'home = "h"\n[sockets]\nbroker = "one/new/b.sock"\nadmin = "two/other/a.sock"\n');
    assert.equal((await readConfig(file)).kind, "ok");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("readConfig() names every problem, on one line, with what the file holds escaped", async () => {
  const problem = await problemOf('home = "/h"\n"a\\u001b[31m" = 1\n[limits]\nconnections = 0\n');
  assert.match(problem, /line 2: .*; line 4: /u);
  assert.doesNotMatch(problem, /\p{C}/u);
});

test("readConfig() says what can't be read and what isn't text", async () => {
  assert.match(await problemOf(Uint8Array.of(0xff)), /is not UTF-8/u);
  const missing = await readConfig("/nonexistent/brokerd.toml");
  assert.deepEqual(missing, { kind: "invalid", problem: `"/nonexistent/brokerd.toml": can't be read (ENOENT)` });
  assert.match(((await readConfig("/")) as { problem: string }).problem, /can't be read \(EISDIR\)/u);
});

test("ownPlaces() holds the configuration's own file, its sockets and what else it moved out of the home", async () => {
  const text =
    'home = "/h"\n[audit]\ndirectory = "/log"\n[grants]\ndirectory = "/g"\ntools = "/t/tools.toml"\nlabels = "labels.toml"\n[sockets]\nadmin = "/r/a/a.sock"\nbroker_mcp = "/r/m/m.sock"\napproval = "/r/g/g.sock"\n[sessions]\nmemory = "/m/core.md"\n';
  await accepted(text, (config, folder) => {
    const places = ownPlaces(config);
    for (const place of [
      join(folder, "brokerd.toml"),
      "/log",
      "/g",
      "/t/tools.toml",
      join(folder, "labels.toml"),
      "/r/a",
      "/r/m",
      "/r/g",
      "/m/core.md",
      "/h/run",
      "/h/run/broker",
      "/h/etc",
    ])
      assert.ok(
        places.some((own) => own === place),
        place,
      );
    assert.equal(new Set(places).size, places.length);
  });
});
