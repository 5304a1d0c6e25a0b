/** http_fetch from a decision to its answer, in each sandbox, in a network namespace of the test's own. Nothing leaves the machine. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { RunOutcome } from "../../src/runner/runtime.ts";
import { countProcesses, findProcesses, SANDBOXES, toolsImage } from "./sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";
import { untilGone } from "./waiting.ts";
import type { FetchOrder } from "./web/fetch-program.ts";
import { ADDRESSES } from "./web/places.ts";
import { type Conversation, converse, imageThatTrusts, openWeb, type Web, whyNoWeb } from "./web/web.ts";

const PROGRAM = join(import.meta.dirname, "web", "fetch-program.ts");
const noWeb = whyNoWeb();

for (const sandbox of SANDBOXES) {
  describe(`http_fetch in a box of ${sandbox.name}`, { skip: sandbox.skip || noWeb }, () => {
    let cleanup: AsyncDisposableStack;
    let web: Web;
    let home: TemporaryFolder;
    let config: string;
    let broker: Conversation;
    let notices: readonly string[];

    async function start(): Promise<void> {
      const command = [process.execPath, PROGRAM, home.path, config] as const;
      const [program, ...args] = sandbox.name === "bubblewrap" ? web.within(...command) : command;
      broker = converse(program, args);
      const opening = JSON.parse(await broker.next()) as { readonly notices?: readonly string[] };
      assert.ok(opening.notices !== undefined, JSON.stringify(opening));
      notices = opening.notices;
    }

    async function end(signal: "SIGKILL" | null): Promise<void> {
      const exited = once(broker.child, "exit");
      if (signal === null) broker.child.stdin?.end();
      else broker.child.kill(signal);
      await exited;
    }

    before(async () => {
      cleanup = new AsyncDisposableStack();
      web = cleanup.use(await openWeb());
      home = cleanup.use(temporaryFolder());
      const limits = { limits: "unenforced", http_fetch_ms: 20_000 };
      if (sandbox.name === "podman") {
        const image = imageThatTrusts(toolsImage(), web);
        cleanup.defer(image.remove);
        config = JSON.stringify({ runtime: "podman", image: image.id, egress_network: `ns:/run/netns/${web.name}`, ...limits });
      } else {
        config = JSON.stringify({ runtime: "bubblewrap", ...limits });
      }
      await start();
      cleanup.defer(() => end(null));
    });

    after(() => cleanup.disposeAsync());

    const HOSTS = ["*.example.com"];

    function order(url: string | null, options: Partial<FetchOrder> = {}): void {
      broker.say(JSON.stringify({ url, hosts: HOSTS, ...options } satisfies FetchOrder));
    }

    async function fetched(url: string, options: Partial<FetchOrder> = {}): Promise<Extract<RunOutcome, { kind: "done" }>> {
      order(url, options);
      const outcome = JSON.parse(await broker.next()) as RunOutcome;
      assert.ok(outcome.kind === "done", JSON.stringify(outcome));
      return outcome;
    }

    async function result(url: string, options: Partial<FetchOrder> = {}): Promise<string> {
      const { status, content } = await fetched(url, options);
      assert.equal(status, "ok", content);
      return content;
    }

    async function failure(url: string): Promise<string> {
      const { status, content } = await fetched(url);
      assert.equal(status, "failed", content);
      return content;
    }

    const directories = (): readonly string[] => readdirSync(home.at("run/runner/egress"));

    test("gets a page by its name, over TLS and without", async () => {
      const secure = await result("https://web.example.com/hello");
      assert.match(secure, /^HTTP\/1\.1 200 OK\n/u);
      assert.match(secure, /\nhello from web\.example\.com$/u);
      assert.match(await result("http://web.example.com/hello"), /\nhello from web\.example\.com$/u);
    });

    test("goes out by one proxy for the calls of a session, grant and list of hosts", async () => {
      await result("https://web.example.com/hello");
      const [first, ...others] = directories();
      assert.deepEqual(others, []);
      await result("https://other.example.com/hello");
      assert.deepEqual(directories(), [first]);
      await result("https://web.example.com/hello", { hosts: ["web.example.com"] });
      assert.equal(directories().length, 2);
    });

    test("returns any status as a result, and bytes that aren't UTF-8 replaced", async () => {
      assert.match(await result("https://web.example.com/nothing"), /^HTTP\/1\.1 404 Not Found\n[\s\S]*\nno such page$/u);
      assert.match(await result("https://web.example.com/bytes"), /\nf\ufffdo$/u);
    });

    test("follows a redirect to the same host, also from http to https, and says so", async () => {
      assert.match(
        await result("https://web.example.com/same"),
        /302 Found[\s\S]*\/hello[\s\S]*200 OK[\s\S]*hello from web\.example\.com$/u,
      );
      assert.match(
        await result("http://web.example.com/up"),
        /302 Found[\s\S]*https:\/\/web\.example\.com\/hello[\s\S]*hello from/u,
      );
    });

    test("returns a redirect to another host, or back to http, with its target", async () => {
      const elsewhere = await result("https://web.example.com/elsewhere");
      assert.match(elsewhere, /^HTTP\/1\.1 302 Found\n[\s\S]*https:\/\/other\.example\.com\/hello/u);
      assert.doesNotMatch(elsewhere, /hello from/u);
      const down = await result("https://web.example.com/down");
      assert.match(down, /^HTTP\/1\.1 302 Found\n[\s\S]*http:\/\/web\.example\.com\/hello/u);
      assert.doesNotMatch(down, /hello from/u);
    });

    test("follows no redirect where the grant asks something of the URL", async () => {
      const args = { url: { prefix: "https://web.example.com/same" } };
      assert.doesNotMatch(await result("https://web.example.com/same", { args }), /hello from/u);
    });

    test("dials the public address of a mixed answer, and no private one", async () => {
      assert.match(await result("https://mixed.example.com/hello"), /hello from mixed\.example\.com$/u);
      for (const name of ["private", "metadata"]) {
        for (const scheme of ["https", "http"]) await failure(`${scheme}://${name}.example.com/hello`);
      }
      await failure("https://nowhere.example.com/");
      const reached = await result("https://web.example.com/reached");
      assert.ok(reached.includes(ADDRESSES.web));
      for (const address of [ADDRESSES.private, ADDRESSES.metadata]) assert.ok(!reached.includes(address), reached);
    });

    test("dials an IPv6 address that is public, where a name has no IPv4 one, and no private one", async () => {
      assert.match(await result("https://ipv6.example.com/hello"), /\nhello from ipv6\.example\.com$/u);
      assert.match(await result("http://mixed6.example.com/hello"), /\nhello from mixed6\.example\.com$/u);
      for (const scheme of ["https", "http"]) await failure(`${scheme}://unique.example.com/hello`);
      const reached = await result("https://ipv6.example.com/reached");
      assert.ok(reached.includes(ADDRESSES.ipv6));
      assert.ok(!reached.includes(ADDRESSES.unique), reached);
    });

    async function changeGrants(): Promise<void> {
      order(null);
      await broker.next();
      while (directories().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }

    /** What curl says outside of any box, by a proxy of ours. */
    const ask = (socket: string, url: string): string => {
      const args = ["-q", "--silent", "--show-error", "--insecure", "--max-time", "20", "--noproxy", ""];
      const asked = spawnSync("curl", [...args, "--proxy", `socks5h://localhost${socket}`, url], { encoding: "utf8" });
      return asked.status === 0 ? asked.stdout : asked.stderr;
    };

    test("has a proxy that refuses what isn't granted, whoever asks it", async () => {
      await changeGrants();
      await result("https://web.example.com/hello");
      await result("https://web.example.com/hello", { hosts: ["web.example.com"] });
      const sockets = directories().map((name) => home.at(`run/runner/egress/${name}/proxy.sock`));
      assert.equal(sockets.length, 2);
      for (const socket of sockets) {
        assert.equal(ask(socket, "https://web.example.com/hello"), "hello from web.example.com");
        const refused = ["https://example.org/", `https://${ADDRESSES.web}/hello`, "http://web.example.com:8080/"];
        for (const url of refused) assert.match(ask(socket, url), /\(2\)/u, url);
      }
      const others = sockets.map((socket) => ask(socket, "https://other.example.com/hello"));
      assert.deepEqual(others.filter((answer) => answer.startsWith("hello")).length, 1);
    });

    test("fails a fetch whose proxy is killed in the middle, and gives the next one another", async () => {
      await changeGrants();
      const marker = `k${web.name}.example.com`;
      const hosts = [marker, "web.example.com"];
      await result("https://web.example.com/hello", { hosts });
      const [directory = ""] = directories();
      const reached = (): number =>
        ask(home.at(`run/runner/egress/${directory}/proxy.sock`), "http://web.example.com/reached").split(" ").length;
      let expected = reached() + 1;
      order("https://web.example.com/never", { hosts });
      // One more than by asking.
      while (reached() === expected) expected++;
      for (const proxy of findProcesses(marker, `${sandbox.node} /opt/boxmaker/toolkit.mjs`)) process.kill(proxy, "SIGKILL");
      const outcome = JSON.parse(await broker.next()) as RunOutcome;
      assert.ok(outcome.kind === "done" && outcome.status === "failed", JSON.stringify(outcome));
      assert.doesNotMatch(outcome.content, /no answer within/u);
      while (directories().includes(directory)) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.match(await result("https://web.example.com/hello", { hosts }), /hello from web\.example\.com$/u);
    });

    test("leaves no proxy when the grants have changed", async () => {
      await result("https://web.example.com/hello");
      assert.notDeepEqual(directories(), []);
      await changeGrants();
      await untilGone(`${home.path}/run/runner/egress/`);
    });

    test("leaves nothing after a kill -9 in the middle of a fetch, and the next start", async () => {
      const marker = `m${web.name}.example.com`;
      await result("https://web.example.com/hello");
      order("https://web.example.com/never", { hosts: [marker, "web.example.com"] });
      while (countProcesses(marker) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await end("SIGKILL");
      await start();
      assert.deepEqual(directories(), []);
      await untilGone(marker);
      if (sandbox.name === "podman") assert.match(notices.join("\n"), /removed [1-4] containers that an earlier brokerd left/u);
      assert.match(await result("https://web.example.com/hello"), /hello from web\.example\.com$/u);
    });
  });
}
