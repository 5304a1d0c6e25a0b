/** Every row of the table of egress cases that only the proxy decides, by the proxy itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "node:tls";
import { judgeAddress } from "../../packages/toolkit/src/egress/judge-address.ts";
import { lookUpBy } from "../../packages/toolkit/src/egress/look-up.ts";
import { judgeRedirect } from "../../packages/toolkit/src/fetch/redirect.ts";
import { listenLoopback } from "../../packages/toolkit/test/egress/loopback-server.ts";
import {
  connectClient,
  connectRequest,
  connectThrough,
  exchange,
  ofFamily,
  openTestProxy,
  PUBLIC,
  readBytes,
  untilGone,
} from "../../packages/toolkit/test/egress/test-proxy.ts";
import { type Case, cell, inputOf, loadTable, titleOf } from "./cases.ts";
import { type Answers, serveDns } from "./dns-server.ts";

const ROWS = loadTable("egress-cases.tsv");
const ADDRESS = /[0-9a-f]*[.:][0-9a-f.:]+/gu;
const reply = (code: number): string => `0500050${code}0001000000000000`;

function rowsOf(kind: string): readonly Case[] {
  const rows = ROWS.filter((row) => cell(row, "kind") === kind);
  assert.ok(rows.length > 0);
  return rows;
}

test("every address of the table is judged as the table says, by the judge alone", () => {
  for (const row of rowsOf("addr")) {
    const here = judgeAddress(inputOf(row)) === undefined ? "refuse" : "allow";
    assert.equal(here, cell(row, "here"), titleOf(row));
  }
});

test("every address of the table that a name server can say is dialled or refused as the table says", async () => {
  let address = "";
  await using proxy = await openTestProxy({ answers: (_, family) => Promise.resolve(ofFamily([address], family)) });
  for (const row of rowsOf("addr")) {
    address = inputOf(row);
    const before = proxy.dialled.length;
    const answer = await exchange(proxy.path, connectRequest("example.com", 80));
    assert.equal(answer, reply(cell(row, "here") === "allow" ? 5 : 4), titleOf(row));
    assert.equal(proxy.dialled.length - before, cell(row, "here") === "allow" ? 1 : 0, titleOf(row));
  }
});

/** What a row's name server says: to the n-th question, where it changes its mind. */
function answersOf(row: Case, before: number): Answers {
  const context = cell(row, "context");
  if (context.endsWith("64 A records")) return Array.from({ length: 64 }, (_, index) => `93.184.216.${index + 1}`);
  const alias = /CNAME ([a-z.]+) -> ([0-9.]+)/u.exec(context);
  if (alias !== null) return [`CNAME ${alias[1]}`, alias[2] ?? ""];
  const addresses = context.replace("answers: ", "").match(ADDRESS) ?? [];
  return context.includes(" then ") ? addresses.slice(before, before + 1) : addresses;
}

for (const row of rowsOf("dns")) {
  test(`${cell(row, "id")} ${cell(row, "context")}: ${cell(row, "here")}`, async () => {
    await using dns = await serveDns((question, before) => (question.endsWith(" example.com") ? answersOf(row, before) : []));
    await using proxy = await openTestProxy({ answers: lookUpBy([dns.address]) });
    const ask = (): Promise<string> => exchange(proxy.path, connectRequest("example.com", 80));
    if (cell(row, "context").includes(" then ")) {
      // Nothing is asked twice for one connection; for the next one the new answer is judged anew.
      assert.equal(await ask(), reply(5));
      assert.deepEqual(dns.asked, ["A example.com"]);
    }
    const isAllowed = cell(row, "here") === "allow";
    const before = proxy.dialled.length;
    assert.equal(await ask(), reply(isAllowed ? 5 : 4), proxy.log.join("; "));
    assert.equal(proxy.dialled.length - before, isAllowed ? 1 : 0);
    for (const { address } of proxy.dialled) assert.match(address, /^93\.184\.216\./u);
  });
}

test("what a row's name server says is what the proxy's resolver reads", async () => {
  const said = ["10.0.0.5", "93.184.216.34", "2606:2800:220:1::1", "::ffff:127.0.0.1", "fe80::1"];
  await using dns = await serveDns(() => said);
  const lookUp = lookUpBy([dns.address]);
  const never = new AbortController().signal;
  const answers = [...(await lookUp("example.com", 4, never)), ...(await lookUp("example.com", 6, never))];
  assert.deepEqual(
    answers.map((answer) => new URL(`http://${answer.includes(":") ? `[${answer}]` : answer}/`).hostname),
    ["10.0.0.5", "93.184.216.34", "[2606:2800:220:1::1]", "[::ffff:7f00:1]", "[fe80::1]"],
  );
});

test("a look-up that is given up has no answers", async () => {
  const stop = new AbortController();
  await using dns = await serveDns(() => {
    stop.abort();
    return ["93.184.216.34"];
  });
  assert.deepEqual(await lookUpBy([dns.address])("example.com", 4, stop.signal), []);
  assert.deepEqual(await lookUpBy([dns.address])("example.com", 4, stop.signal), []);
});

/** What each row of SOCKS bytes is answered with, in hex; E451 is a flood and no bytes. */
const SOCKS_ANSWERS: Readonly<Record<string, string>> = {
  E435: "05ff",
  E437: reply(7),
  E439: reply(8),
  E441: reply(2),
  E443: reply(2),
  E445: reply(2),
  E447: "",
  E449: reply(1),
};

for (const row of rowsOf("socks").filter((one) => cell(one, "id") !== "E451")) {
  test(`${cell(row, "id")} ${inputOf(row)}: ${cell(row, "why")}`, async () => {
    await using proxy = await openTestProxy();
    assert.equal(cell(row, "here"), "refuse");
    assert.equal(await exchange(proxy.path, Buffer.from(inputOf(row).replaceAll(" ", ""), "hex")), SOCKS_ANSWERS[cell(row, "id")]);
    assert.deepEqual(proxy.dialled, []);
  });
}

test("E451 of 1000 connections at once those past the limit are closed unread", async () => {
  const limit = 64;
  await using proxy = await openTestProxy();
  const held = await Promise.all(Array.from({ length: limit }, () => connectClient(proxy.path)));
  for (const client of held) client.write(Buffer.from([5, 1, 0]));
  for (const client of held) assert.equal((await readBytes(client, 2)).toString("hex"), "0500");
  // In groups: the kernel keeps only so many that wait to be accepted.
  const group = 104;
  for (let open = limit; open < 1000; open += group) {
    const more = await Promise.all(Array.from({ length: group }, () => exchange(proxy.path, Buffer.from([5, 1, 0]))));
    assert.deepEqual(new Set(more), new Set([""]));
  }
  assert.equal(proxy.log.length, 1);
  for (const client of held) client.destroy();
});

test("E453 a TLS client that asks for another host than it was connected for isn't passed on", async () => {
  let passedOn = 0;
  await using server = await listenLoopback((socket) => socket.on("data", (chunk) => (passedOn += chunk.length)));
  await using proxy = await openTestProxy({ upstream: server.port });
  const tunnel = await connectThrough(proxy.path, "example.com", 443);
  const client = connect({ socket: tunnel, servername: "evil.test" });
  client.on("error", () => undefined);
  await untilGone(tunnel);
  assert.equal(passedOn, 0);
  assert.match(proxy.log.join("\n"), /^refused example\.com:443: /u);
});

test("no redirect of the table is followed: each leads to another host, or nowhere", () => {
  for (const row of rowsOf("redirect")) {
    const response = { status: 302, statusLine: "", location: inputOf(row), body: Buffer.alloc(0) };
    assert.equal(judgeRedirect("https://example.com/", response, true).kind, "stay", titleOf(row));
  }
});

test("no row is judged by the proxy in another way than is advised", () => {
  for (const kind of ["addr", "dns", "socks", "tls"]) {
    for (const row of rowsOf(kind)) assert.equal(cell(row, "here"), cell(row, "expect"), titleOf(row));
  }
  assert.equal(judgeAddress(PUBLIC)?.address, PUBLIC);
});
