import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { judgeRedirect, type Redirect } from "../../src/fetch/redirect.ts";

const FROM = "https://example.com/a/b?c";

function judge(location: string | null, mayFollow: boolean = true, from: string = FROM, status: number = 302): Redirect {
  return judgeRedirect(from, { statusLine: "", status, location, body: Buffer.alloc(0) }, mayFollow);
}

function followed(location: string): string {
  const redirect = judge(location);
  assert.equal(redirect.kind, "follow", location);
  return redirect.kind === "follow" ? redirect.href : "";
}

test("the same host is followed, however it is spelled", () => {
  for (const location of [
    "/x",
    "//example.com/x",
    "///example.com/x",
    "https:/x",
    "HTTPS://EXAMPLE.COM:443/x",
    "../../../x",
    "/x#y",
  ]) {
    assert.equal(followed(location), "https://example.com/x");
  }
  assert.equal(followed("https:evil.test"), "https://example.com/a/evil.test");
  assert.equal(followed("/x\u0000\u001b[2J]\n[y"), "https://example.com/x%00%1B[2J][y");
});

test("another host is for a call of its own, however it is spelled", () => {
  const spelled = [
    "//evil.test/",
    "\\\\evil.test\\",
    "/\\evil.test/",
    "https:\\\\evil.test",
    "\thttps://evil.test/",
    "ht\ttps://evil.test/",
  ];
  for (const location of spelled) {
    assert.deepEqual(judge(location), { kind: "stay", note: "leads to https://evil.test/: fetch that in a call of its own" });
  }
});

test("what no call may fetch is said, and not followed", () => {
  const wrong = [
    "https://example.com@evil.test/",
    "https://evil.test@example.com/",
    "https://example.com:444/",
    "https://example.com./",
    "https://example.com\u3002/",
    "https://[::1]/",
    "https://2130706433/",
    "file:///etc/passwd",
    "scp://example.com/",
    "javascript:x",
    `https://example.com/${"x".repeat(9000)}`,
  ];
  for (const location of wrong) {
    const redirect = judge(location);
    assert.ok(redirect.kind === "stay" && redirect.note.endsWith(", which can't be fetched"), location);
  }
  assert.deepEqual(judge("https://\u001b[2J"), { kind: "stay", note: 'leads to "https://\\u001b[2J", which is no URL' });
});

test("https is never left, http may be, and nothing is followed that may not be", () => {
  assert.equal(judge("http://example.com/").kind, "stay");
  assert.equal(judge("https://example.com/", true, "http://example.com/").kind, "follow");
  assert.equal(judge("/x", false).kind, "stay");
  assert.equal(judge(null).kind, "none");
  for (const status of [200, 300, 304, 305, 306, 404]) assert.equal(judge("/x", true, FROM, status).kind, "none");
});

test("whatever a server says leads to its own host or to one line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.constantFrom("", "/", "//", "https://", "https://example.com"), (text, start) => {
      const redirect = judge(`${start}${text}`);
      if (redirect.kind === "follow") assert.match(redirect.href, /^https:\/\/example\.com\/[\x21-\x7e]*$/u);
      else assert.ok(redirect.kind === "stay" && !/\p{Cc}/u.test(redirect.note));
    }),
  );
});
