/** Whether a fetch may go on to another path of its host. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, EARLIER, fetchOf, type GrantFields, grant, read } from "./support.ts";

const URL_TEXT = "https://a.example.com/public/1";
const FETCH: GrantFields = { id: "g", tool: "http_fetch", hosts: ["a.example.com"] };
const ASKS: GrantFields = { ...FETCH, id: "asks", args: { url: { prefix: "https://a.example.com/public/" } } };
const DENIES: GrantFields = { ...FETCH, id: "denies", mode: "deny", args: { url: { prefix: "https://a.example.com/private/" } } };

function follows(...grants: readonly GrantFields[]): boolean {
  const verdict = ask(
    fetchOf(URL_TEXT),
    grants.map((fields) => grant(fields)),
  );
  assert.ok(verdict.kind === "allowed");
  return verdict.decision.followsRedirects;
}

test("a fetch may be redirected within its host where every grant of the host is of the whole host", () => {
  assert.equal(follows(FETCH), true);
  assert.equal(follows(FETCH, { ...ASKS, hosts: ["b.example.com"], args: { url: { maxlen: 1 } } }), true);
});

test("a redirect is another call where any grant of the host asks something of the URL, be it a deny, a wildcard's or expired", () => {
  assert.equal(follows(ASKS), false);
  assert.equal(follows(FETCH, ASKS), false);
  assert.equal(follows(FETCH, DENIES), false);
  assert.equal(follows(FETCH, { ...DENIES, hosts: ["*.example.com"] }), false);
  assert.equal(follows(FETCH, { ...ASKS, args: { url: { prefix: "https://a.example.com/other/" } }, expires: EARLIER }), false);
});

test("no other tool follows redirects", () => {
  const verdict = ask(read("/srv/notes/a"), [grant()]);
  assert.ok(verdict.kind === "allowed");
  assert.equal(verdict.decision.followsRedirects, false);
});
