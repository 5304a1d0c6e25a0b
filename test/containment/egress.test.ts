/** Every row of the table of egress cases that grammar and grants decide, and that no address passes for a host. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, type PolicyState } from "@boxmaker/policy";
import { setFromTexts } from "@boxmaker/policy/grants";
import { CallId, FetchUrl, Host, HostPattern, hostOfUrl, matchesHost, SessionId, timestampFromMillis } from "@boxmaker/proto";
import { type Case, cell, inputOf, loadTable, titleOf } from "./cases.ts";

const ROWS = loadTable("egress-cases.tsv");
const HOSTS = ["example.com", "api.example.com", "*.wild.example", "xn--bcher-kva.example"];
const GRANTS = setFromTexts(
  [
    {
      file: "fetch.toml",
      text: `id = "fetch"\ntool = "http_fetch"\nmode = "auto"\n[constraints]\nhosts = ${JSON.stringify(HOSTS)}\n`,
    },
  ],
  [],
);
const STATE: PolicyState = {
  label: { taint: "public", untrusted: false },
  origin: "terminal",
  ceiling: "secret",
  usesSpent: () => 0,
  pathLabels: [],
};

interface Judgement {
  readonly here: string;
  readonly by: string;
}

function judgeUrl(url: string): Judgement {
  const request = {
    session: SessionId.parse("chat-1"),
    call: CallId.parse(1),
    tool: "http_fetch",
    argumentsText: JSON.stringify({ url }),
  };
  const verdict = decide(request, GRANTS, STATE, timestampFromMillis(0), { runtime: "podman", image: null });
  if (verdict.kind !== "denied") return { here: "allow", by: "-" };
  return { here: "refuse", by: verdict.reason === "invalid_arguments" ? "grammar" : "grants" };
}

/** A name as a proxy would be asked for it. */
function judgeName(name: string): Judgement {
  const host = Host.safeParse(name);
  if (!host.success) return { here: "refuse", by: "grammar" };
  const isGranted = HOSTS.some((pattern) => matchesHost(HostPattern.parse(pattern), host.data));
  return isGranted ? { here: "allow", by: "-" } : { here: "refuse", by: "grants" };
}

function rowsOf(...kinds: readonly string[]): readonly Case[] {
  const rows = ROWS.filter((row) => kinds.includes(cell(row, "kind")));
  assert.ok(rows.length > 0);
  return rows;
}

for (const [kinds, judge] of [
  [["url"], judgeUrl],
  // A redirect's target is a URL like any other: whoever follows it has to ask again.
  [["redirect"], judgeUrl],
  [["name"], judgeName],
] as const) {
  test(`every ${kinds.join()} of the table is judged as the table says`, () => {
    for (const row of rowsOf(...kinds)) {
      assert.deepEqual(judge(inputOf(row)), { here: cell(row, "here"), by: cell(row, "by") }, titleOf(row));
    }
  });
}

test("no address of the table, however it is spelled, is the host of a URL or of a grant", () => {
  for (const row of rowsOf("addr")) {
    const address = inputOf(row);
    // A row of kind addr may hold a name: then the grants decide, as for every other name.
    const isName = Host.safeParse(address).success;
    for (const host of [address, `[${address}]`, `${address}.`, `${address}:443`]) {
      if (isName && host === address) continue;
      assert.ok(!Host.safeParse(host).success, titleOf(row));
      assert.ok(!HostPattern.safeParse(host).success, titleOf(row));
    }
    for (const host of [address, `[${address}]`]) {
      assert.equal(judgeUrl(`https://${host}/`).here, "refuse", titleOf(row));
    }
  }
});

test("where a row and what is advised disagree, docs/decisions.md says why", () => {
  const disagreeing = rowsOf("url", "redirect", "name").filter((row) => cell(row, "here") !== cell(row, "expect"));
  assert.deepEqual(
    disagreeing.map((row) => cell(row, "id")),
    ["E185", "E189", "E223", "E375"],
  );
});

test("what was granted as a host is the host that is fetched", () => {
  for (const row of rowsOf("url", "redirect")) {
    const url = FetchUrl.safeParse(inputOf(row));
    if (!url.success) continue;
    assert.equal(new URL(url.data).hostname, hostOfUrl(url.data), titleOf(row));
    assert.equal(new URL(url.data).href.startsWith(url.data.slice(0, url.data.indexOf("//") + 2)), true, titleOf(row));
  }
});

/** What only the proxy can decide: egress-proxy.test.ts has a test for each. */
const BY_PROXY: ReadonlySet<string> = new Set(["addr", "dns", "socks", "tls"]);

test("no row is left out", () => {
  const known = new Set(["url", "redirect", "name", ...BY_PROXY]);
  assert.deepEqual(
    ROWS.filter((row) => !known.has(cell(row, "kind"))),
    [],
  );
  for (const row of ROWS) assert.equal(cell(row, "by") === "egress", BY_PROXY.has(cell(row, "kind")), titleOf(row));
});
