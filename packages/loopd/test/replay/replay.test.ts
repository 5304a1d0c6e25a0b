/** Record and replay: the logs alone give the requests of a long conversation again, byte for byte. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Exchange, type RecordedRequest, reply } from "@boxmaker/demo-model";
import { contentOf, told } from "../support/loop-client.ts";
import { rebuildRequests } from "../support/rebuild-requests.ts";
import { result } from "../support/scripted-broker.ts";
import { isSummaryRequest, longText } from "../support/summaries.ts";
import { TestLoop } from "../support/test-loop.ts";

const CONTEXT = 4_000;
const TURNS = 30;

/** A model that thinks, calls tools well and badly, answers nothing, and sums up, by the number of the request. */
function say(request: RecordedRequest): Exchange {
  if (isSummaryRequest(request)) return reply({ content: `Summary ${request.index}: "ä" \u2028 🦀`, reasoning: "so much" });
  const { index, chat } = request;
  if (chat.messages.at(-1)?.role === "tool") return reply({ content: `done ${index}` });
  const path = JSON.stringify({ path: `/n/${index}` });
  switch (index % 6) {
    case 0:
      return reply({
        reasoning: `hm ${index}`,
        calls: [
          { name: "read_file", arguments: path, id: null },
          { name: "clock", arguments: "" },
        ],
      });
    case 1:
      return reply({ content: "", reasoning: "nothing to say" });
    case 2:
      return reply({ calls: [{ name: "read_file", arguments: '{"path": ' }] });
    case 3:
      return reply({ calls: [{ name: "call_tool", arguments: `{"name":"read_file", "arguments": ${path}}` }] });
    case 4:
      return reply({ content: `two\nlines ${index} "quoted" \\ 😀`, finish: "length" });
    default:
      return reply({ content: `answer ${index}` });
  }
}

test("a long conversation with tools, epochs and a rewinding is rebuilt from its logs, request by request, byte for byte", async () => {
  const toml = '[limits]\ncontext_reserve = 800\n[infer]\npoll_ms = 20\n[sampling]\ntemperature = "0.7"\nseed = 7\n';
  await using loop = await TestLoop.start({
    model: { script: say, contextTokens: CONTEXT },
    broker: async ({ call }, send) => {
      await send(
        call % 3 === 0
          ? { kind: "tool_response", body: { outcome: "denied", reason: "no_grant" } }
          : result(longText(300, `r${call}`)),
        true,
      );
    },
    toml,
  });
  for (let turn = 0; turn < TURNS; turn++) {
    contentOf(await loop.client.turn("s1", `${turn}: ${longText(200, "ask")}`, { resume: turn > 0 }));
    if (turn === 10) await loop.restart();
    if (turn === 20) assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  }
  const config = await loop.home.config(toml);
  const server = { kind: "llama-server", slots: 1, context: CONTEXT, templateSha256: "", build: "" } as const;
  const got = loop.model.requests.map(({ body }) => body.toString());
  const built = await rebuildRequests(loop.home.at("sessions/s1"), config, server);
  assert.deepEqual(built, got);
  assert.ok(loop.model.requests.filter(isSummaryRequest).length >= 3);

  // A rewound session begins with the same bytes, in whichever epoch its turns lie.
  const turnsOf = (count: number): number =>
    loop.model.requests.findIndex(({ chat }) => told(chat.messages.at(-1)).startsWith(`${count}: `));
  for (const [turn, to] of [
    [4, "s2"],
    [TURNS - 1, "s3"],
  ] as const) {
    const point = await loop.client.ask("rewind_point", { session: "s1", turn });
    assert.ok(point.kind === "rewind_point_report");
    assert.equal(point.body.turns, TURNS);
    assert.equal((await loop.client.ask("rewind", { session: "s1", turn, call: point.body.call, to })).kind, "session_started");
    const before = loop.model.requests.length;
    await loop.client.turn(to, "another way", { resume: true });
    const sent = loop.model.requests.slice(before).map(({ body }) => body.toString());
    const rebuilt = await rebuildRequests(loop.home.at(`sessions/${to}`), config, server);
    assert.deepEqual(rebuilt.slice(-sent.length), sent);
    // Those before the turn that was taken back, as the old session had sent them.
    const kept = got.slice(0, turnsOf(turn));
    const own = rebuilt.slice(0, -sent.length).filter((body) => kept.includes(body));
    if (to === "s2") assert.ok(own.length > 4);
    assert.deepEqual(own, kept.slice(kept.length - own.length));
  }
  assert.deepEqual(loop.model.violations, []);
});
