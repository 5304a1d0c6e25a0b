/** What a configuration that is read while brokerd runs may change, and that nothing of it is taken where one key may not. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Config, readConfig } from "../../src/config/config.ts";
import { ConfigInForce } from "../../src/config/config-in-force.ts";

class ConfigFolder implements Disposable {
  readonly file: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "boxmaker-reload-"));

  constructor() {
    this.file = join(this.#folder, "brokerd.toml");
  }

  read(text: string): ReturnType<typeof readConfig> {
    writeFileSync(this.file, text);
    return readConfig(this.file);
  }

  async config(text: string): Promise<Config> {
    const reading = await this.read(text);
    return reading.kind === "ok" ? reading.config : assert.fail(reading.problem);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

const HOME = 'home = "box"\n';

test("ConfigInForce takes each limit and how long an ask waits, and names what has changed as the file does", async () => {
  using folder = new ConfigFolder();
  const inForce = new ConfigInForce(await folder.config(HOME));
  const limits = `[limits]
connections = 1
bytes_in_flight = 9000000
read_deadline_ms = 2
write_deadline_ms = 3
stop_grace_ms = 4
`;
  const next = await folder.read(`${HOME}[approvals]\nttl_ms = 5\n${limits}`);
  assert.deepEqual(inForce.offer(next), {
    kind: "applied",
    keys: [
      "approvals.ttl_ms",
      "limits.connections",
      "limits.bytes_in_flight",
      "limits.read_deadline_ms",
      "limits.write_deadline_ms",
      "limits.stop_grace_ms",
    ],
  });
  assert.equal(inForce.current.limits.connections, 1);
  assert.equal(inForce.current.approvals.ttlMs, 5);
  assert.deepEqual(inForce.offer(next), { kind: "applied", keys: [] });
});

/** Each with what makes a table of the file, and the keys that stand in the way. */
const FIXED: readonly (readonly [string, readonly string[]])[] = [
  ['[audit]\ndirectory = "a"\n', ["audit.directory"]],
  ["[audit]\nlow_space_bytes = 1\n", ["audit.low_space_bytes"]],
  ["[audit]\ncheckpoint_every = 1\n", ["audit.checkpoint_every"]],
  ['[audit]\ncheckpoint_command = ["/bin/true"]\n', ["audit.checkpoint_command"]],
  ['[grants]\ndirectory = "g"\ntools = "t"\nlabels = "l"\n', ["grants.directory", "grants.tools", "grants.labels"]],
  [
    '[sockets]\nbroker = "b/b"\nbroker_mcp = "m/m"\nadmin = "a/a"\napproval = "g/g"\n',
    ["sockets.broker", "sockets.broker_mcp", "sockets.approval", "sockets.admin"],
  ],
  ["[approvals]\nmax_pending = 1\nper_hour = 1\n", ["approvals.max_pending", "approvals.per_hour"]],
  [
    '[sessions]\ntaint = "secret"\nuntrusted = true\nmax_class = "public"\nmemory = "m"\nmemory_class = "secret"\nper_minute = 1\n',
    [
      "sessions.taint",
      "sessions.untrusted",
      "sessions.max_class",
      "sessions.memory",
      "sessions.memory_class",
      "sessions.per_minute",
    ],
  ],
];

test("ConfigInForce takes nothing of a file in which a key has changed that is on record at a start, and names each", async () => {
  using folder = new ConfigFolder();
  const inForce = new ConfigInForce(await folder.config(HOME));
  const before = inForce.current;
  for (const [toml, keys] of FIXED) {
    const reload = inForce.offer(await folder.read(`${HOME}${toml}[limits]\nconnections = 1\n`));
    assert.deepEqual(reload, { kind: "needs_restart", keys }, toml);
    assert.equal(inForce.current, before);
  }
  const runner = inForce.offer(await folder.read(`${HOME}[runner]\nruntime = "process"\n`));
  assert.ok(runner.kind === "needs_restart" && runner.keys.includes("runner.runtime"), JSON.stringify(runner));
  const moved = inForce.offer(await folder.read('home = "other"\n'));
  assert.ok(moved.kind === "needs_restart" && moved.keys.includes("home"));
});

test("ConfigInForce says what is wrong with a file that can't be read, and goes on with what it has", async () => {
  using folder = new ConfigFolder();
  const inForce = new ConfigInForce(await folder.config(HOME));
  const before = inForce.current;
  const reload = inForce.offer(await folder.read(`${HOME}[limits]\nconnections = 0\n`));
  assert.match(reload.kind === "invalid" ? reload.problem : "", /line 3: limits\.connections/u);
  assert.equal(inForce.current, before);
});
