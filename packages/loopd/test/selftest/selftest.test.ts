import assert from "node:assert/strict";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type ModelServer, type ModelServerOptions, refuse, reply, startModelServer, stream } from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import type { SelftestReport } from "../../src/selftest/report.ts";
import { selftest } from "../../src/selftest/selftest.ts";
import { TestHome } from "../support/home.ts";

const SETTINGS = "see docs/runbook.md#model-server-settings";
const dependencies = { clock: systemClock, random: () => 0.5 };
const never = new Promise(() => {});

interface Tested {
  readonly report: SelftestReport;
  readonly server: ModelServer;
}

/** What the self-test says of a server like this. */
async function testServer(options: Partial<ModelServerOptions>, toml = "", signal = new AbortController().signal): Promise<Tested> {
  await using home = await TestHome.make();
  const listen = { kind: "unix", path: home.at("run/infer/infer.sock") } as const;
  await using server = await startModelServer({ script: [], ...options, listen });
  return { report: await selftest(await home.config(toml), dependencies, signal), server };
}

test("selftest() finds nothing wrong with slots of their own and no cache beside them", async () => {
  const { report, server } = await testServer({ slots: 2, cache: "per-slot" });
  assert.deepEqual([report.mismatches, report.warnings], [[], []]);
  assert.deepEqual(report.lines.slice(-2), ["completion: streamed to its end", "cache: each slot keeps its own"]);
  assert.deepEqual(server.violations, []);
});

test("selftest() finds that a request on one slot costs the others their cache, and that prompts are kept beside the slots", async () => {
  const { report } = await testServer({ slots: 2, cache: "unified" });
  assert.match(report.warnings[0] ?? "", /^cache of slot 0 after a request on slot 1: expected nearly \d+ tokens, got 0; see /u);
  assert.match(
    report.warnings[1] ?? "",
    /^prompts kept in memory beside the slots: expected none \(--cache-ram 0\), got \d+ tokens; /u,
  );
  assert.ok(report.warnings.length === 2 && report.warnings.every((warning) => warning.endsWith(SETTINGS)));
  for (const slots of [1, 2]) {
    const { report: withRam } = await testServer({ slots, cache: "with-ram" });
    assert.deepEqual(
      withRam.warnings.map((warning) => warning.split(":")[0]),
      ["prompts kept in memory beside the slots"],
    );
  }
});

test("selftest() doesn't take a model that reads everything anew for a server that loses its cache", async () => {
  const forget = (server: ModelServer): void => server.forgetSlot(0);
  let running: ModelServer | undefined;
  await using home = await TestHome.make();
  const listen = { kind: "unix", path: home.at("run/infer/infer.sock") } as const;
  await using server = await startModelServer({
    slots: 2,
    listen,
    probe: null,
    script: () => {
      if (running !== undefined) forget(running);
      return reply({ content: "yes" });
    },
  });
  running = server;
  const report = await selftest(await home.config(), dependencies, new AbortController().signal);
  assert.deepEqual(report.warnings, []);
  assert.match(report.lines.at(-1) ?? "", /^cache: the server reads a prompt anew/u);
  assert.equal(server.requests.length, 2);
});

test("selftest() costs no conversation its cache", async () => {
  await using home = await TestHome.make();
  const listen = { kind: "unix", path: home.at("run/infer/infer.sock") } as const;
  await using server = await startModelServer({ script: () => reply({ content: "x" }), slots: 2, listen });
  const words = Array.from({ length: 80 }, (_, index) => `word${index}`).join(" ");
  const config = await home.config();
  await talk(server, words);
  const report = await selftest(config, dependencies, new AbortController().signal);
  assert.match(report.lines.at(-1) ?? "", /^completion: not tried, the slots hold conversations/u);
  assert.equal(await talk(server, words), await talk(server, words));
});

/** Sends a message as a client would; returns how many tokens it was spared. */
async function talk(server: ModelServer, content: string): Promise<number> {
  const socketPath = server.url.slice("unix:".length);
  const answer = await new Promise<string>((resolve, reject) => {
    const outgoing = request({ socketPath, method: "POST", path: "/v1/chat/completions", agent: false }, (response) => {
      text(response).then(resolve, reject);
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify({ messages: [{ role: "user", content }], id_slot: 0 }));
  });
  return (JSON.parse(answer) as { timings: { cache_n: number } }).timings.cache_n;
}

test("selftest() compares with [expect], one line a mismatch, and prints a section to copy where nothing is expected", async () => {
  const template = "a".repeat(64);
  const expecting = `[expect]\nslots = 3\ncontext = 4096\ntemplate_sha256 = "${template}"\n`;
  const { report } = await testServer({ slots: 2, contextTokens: 8_192 }, expecting);
  assert.deepEqual(report.mismatches.slice(0, 2), [
    "slots: expected 3, got 2; see docs/runbook.md#selftest-failed",
    "context per slot: expected 4096, got 8192; see docs/runbook.md#selftest-failed",
  ]);
  assert.match(report.mismatches[2] ?? "", /^chat template SHA-256: expected a{64}, got [0-9a-f]{64}; see /u);
  assert.equal(report.mismatches.length, 3);
  assert.ok(!report.lines.includes("[expect]"));
  const { report: first } = await testServer({ slots: 2, contextTokens: 8_192 });
  const section = first.lines.slice(first.lines.indexOf("[expect]"), first.lines.indexOf("[expect]") + 4).join("\n");
  const { report: again } = await testServer({ slots: 2, contextTokens: 8_192 }, `${section}\n`);
  assert.deepEqual([again.mismatches, again.warnings], [[], []]);
});

test("selftest() warns of a prompt above its budget, of slots that aren't there, and of slots that aren't shown", async () => {
  const toml = "[limits]\nbaseline_tokens = 5\n[slots]\nterminal = [3]\n";
  const hidden = { status: 501, body: "{}" };
  const { report } = await testServer({ routes: (route) => (route.startsWith("GET /slots") ? hidden : undefined) }, toml);
  const [slots, baseline, shown, ...rest] = report.warnings;
  assert.equal(slots, "slots: expected more than 3, got 1; see docs/runbook.md#slot-missing");
  assert.match(baseline ?? "", /^baseline: expected at most 5 tokens, got \d+; see docs\/runbook\.md#selftest-failed$/u);
  assert.equal(shown, `GET /slots: expected status 200, got 501; ${SETTINGS}`);
  assert.deepEqual(rest, []);
  assert.equal(report.lines.at(-1), "completion: streamed to its end");
});

test("selftest() says what a completion failed with, and what it found before", async () => {
  const { report } = await testServer(
    { probe: null, script: [refuse(500, "template\u001b[31m", "server_error")] },
    "[expect]\nslots = 9\n",
  );
  assert.equal(report.mismatches.length, 1);
  assert.equal(report.warnings.length, 1);
  assert.match(report.warnings[0] ?? "", /template.*; see docs\/runbook\.md#model-reply-refused$/u);
  assert.ok(!report.warnings[0]?.includes("\u001b"));
});

test("selftest() ends when its time is over", async () => {
  const enough = new AbortController();
  const { report } = await testServer(
    {
      probe: null,
      script: () => {
        enough.abort();
        return stream([{ kind: "wait", gate: never }]);
      },
    },
    "",
    enough.signal,
  );
  assert.deepEqual(report.warnings, ["the self-test didn't end in time; see docs/runbook.md#model-reply-refused"]);
});

test("selftest() of a server that is away or loading is one warning", async () => {
  await using home = await TestHome.make();
  const config = await home.config();
  const { signal } = new AbortController();
  const away = await selftest(config, dependencies, signal);
  assert.deepEqual(away, {
    lines: [],
    mismatches: [],
    warnings: ["nothing serves on the model's socket; see docs/runbook.md#model-unreachable"],
  });
  await using server = await startModelServer({ script: [], listen: { kind: "unix", path: config.sockets.infer } });
  server.setLoading(true);
  const loading = await selftest(config, dependencies, signal);
  assert.equal(loading.warnings.length, 1);
  assert.match(loading.warnings[0] ?? "", /model-unreachable$/u);
});

test("selftest() of a router asks nothing that loads a model, and compares the one that is loaded", async () => {
  const toml = 'model = "m"\n[expect]\nslots = 7\n';
  for (const router of ["unloaded", "loaded"] as const) {
    const { report, server } = await testServer({ router, modelName: "m" }, toml);
    assert.deepEqual(server.violations, [], router);
    assert.equal(report.lines[0], "server: llama-server's router; it is used as one without slots");
    assert.equal(
      report.warnings[0],
      `server: expected a llama-server with one model, got its router, which may unload it; ${SETTINGS}`,
    );
    assert.equal(report.mismatches.length, router === "loaded" ? 1 : 0);
    assert.equal(report.lines.includes("completion: streamed to its end"), router === "loaded");
  }
});
