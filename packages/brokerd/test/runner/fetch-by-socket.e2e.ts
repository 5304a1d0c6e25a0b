/** http_fetch as a whole: from a request on brokerd's socket to its answer there, in a network namespace of the test's own. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { CallId, SessionId } from "@boxmaker/proto";
import { Client } from "../support/client.ts";
import { brokerOf, Daemon } from "../support/daemon.ts";
import { BoxFiles } from "../support/rig.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { openWeb, whyNoWeb } from "./web/web.ts";

const [bubblewrap] = SANDBOXES.filter(({ name }) => name === "bubblewrap");
const RUNNER = '[runner]\nruntime = "bubblewrap"\nlimits = "unenforced"\nhttp_fetch_ms = 20000\n';

test("a fetch that is asked for on broker.sock is decided, made and answered, and one of another host is denied", {
  skip: bubblewrap?.skip || whyNoWeb(),
}, async () => {
  await using web = await openWeb();
  using files = new BoxFiles();
  const grant = 'id = "web"\ntool = "http_fetch"\nmode = "auto"\n[constraints]\nhosts = ["web.example.com"]\n';
  writeFileSync(files.at("grants/web.toml"), grant, { mode: 0o600 });
  const within = web.within().map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  await using daemon = Daemon.serve(files, RUNNER, { shell: `exec ${within.join(" ")} "$@"` });
  await daemon.ready;
  const fetched = async (call: number, url: string): Promise<unknown> => {
    const body = {
      session: SessionId.parse("fetching"),
      turn: CallId.parse(call),
      call: CallId.parse(call),
      tool: "http_fetch",
    } as const;
    using client = await Client.request(brokerOf(files), {
      kind: "tool_request",
      body: { ...body, arguments: JSON.stringify({ url }) },
    });
    return await client.final();
  };
  const page = JSON.stringify(await fetched(1, "https://web.example.com/hello"));
  assert.match(page, /"outcome":"result".*hello from web\.example\.com/u);
  assert.match(JSON.stringify(await fetched(2, "https://other.example.com/hello")), /"outcome":"denied"/u);
});
