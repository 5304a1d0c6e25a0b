import assert from "node:assert/strict";
import { test } from "node:test";
import { readProxyArguments } from "../../src/egress/proxy-arguments.ts";

function read(...args: readonly string[]): unknown {
  const given = readProxyArguments(args);
  return given.kind === "misuse" ? given.problem : [given.socketPath, ...given.allow];
}

const USAGE = "expected --socket PATH --allow HOST [--allow HOST]…";

test("the proxy's command line is a socket and hosts", () => {
  assert.deepEqual(read("--socket", "/run/p.sock", "--allow", "a.com"), ["/run/p.sock", "a.com"]);
  assert.deepEqual(read("--allow", "a.com", "--allow", "*.b.com", "--socket", "/p"), ["/p", "a.com", "*.b.com"]);
});

test("whatever is left out, given twice or unknown is misuse, on one line", () => {
  assert.equal(read(), USAGE);
  assert.equal(read("--socket", "/p"), USAGE);
  assert.equal(read("--allow", "a.com"), USAGE);
  assert.equal(read("--socket", "/p", "--socket", "/q", "--allow", "a.com"), USAGE);
  for (const wrong of [["--judge", "off"], ["more"], ["--allow"], ["--no-allow"], ["--allow-private"], ["--\u001b[2J\n"]]) {
    const said = read("--socket", "/p", "--allow", "a.com", ...wrong);
    assert.ok(typeof said === "string" && said.startsWith(`${USAGE}: `), String(said));
    assert.doesNotMatch(said, /\p{C}/u);
  }
});

test("a relative socket, and a host that no grant could name, are refused", () => {
  assert.equal(read("--socket", "p", "--allow", "a.com"), '--socket "p": expected an absolute path');
  for (const host of ["A.com", "a.com.", "127.0.0.1", "*", "*.*.com", "a.com:443", "", "https://a.com/", "a.com,b.com"]) {
    const said = `--allow ${JSON.stringify(host)}: expected a host name, or '*.' and a host name`;
    assert.equal(read("--socket", "/p", "--allow", "a.com", "--allow", host), said);
  }
});
