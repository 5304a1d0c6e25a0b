import assert from "node:assert/strict";
import { isIPv6 } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { judgeAddress } from "../../src/egress/judge-address.ts";

/** The edges of every range: its first and last address are refused, their neighbours outside as said. */
const EDGES: readonly (readonly [below: string | null, first: string, last: string, above: string | null])[] = [
  [null, "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
  ["100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
  ["126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
  ["168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"],
  ["169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
  ["172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
  ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
  ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
  ["192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"],
  ["192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"],
  ["192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
  ["192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
  ["192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"],
  ["198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
  ["198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
  ["203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
  ["223.255.255.255", "224.0.0.0", "255.255.255.255", null],
  [null, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  ["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
  ["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
  ["2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"],
  ["3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  [null, "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
  ["3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
];

test("each range is refused from its first address to its last, and not one further", () => {
  for (const [below, first, last, above] of EDGES) {
    assert.equal(judgeAddress(first), undefined, first);
    assert.equal(judgeAddress(last), undefined, last);
    for (const outside of [below, above]) {
      if (outside !== null) assert.equal(judgeAddress(outside)?.address, outside, outside);
    }
  }
});

test("a mapped address is the IPv4 address that it is, however it is spelled, and is dialled as that", () => {
  for (const spelling of ["::ffff:8.8.8.8", "::ffff:808:808", "0:0:0:0:0:FFFF:0808:0808", "0::ffff:808:808"]) {
    assert.deepEqual(judgeAddress(spelling), { address: "8.8.8.8", family: 4 }, spelling);
  }
  for (const spelling of ["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a9fe:a9fe", "::FFFF:10.0.0.1"]) {
    assert.equal(judgeAddress(spelling), undefined, spelling);
  }
});

test("an address that a NAT64 gateway translates is judged by the IPv4 address inside, and dialled as it is", () => {
  assert.deepEqual(judgeAddress("64:ff9b::8.8.8.8"), { address: "64:ff9b::8.8.8.8", family: 6 });
  for (const refused of [
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::",
    "64:ff9b:0:0:0:1:808:808",
    "64:ff9b:1::808:808",
  ]) {
    assert.equal(judgeAddress(refused), undefined, refused);
  }
});

test("no other form is unwrapped: what holds a public IPv4 address in another way is refused", () => {
  for (const refused of ["::8.8.8.8", "::ffff:0:808:808", "2002:808:808::1", "2001:0:808:808::1", "::ffff:0:8.8.8.8"]) {
    assert.equal(judgeAddress(refused), undefined, refused);
  }
});

test("what isn't an address in its usual spelling is refused", () => {
  const odd = [
    "",
    "1.2.3",
    "1.2.3.4.",
    "01.2.3.4",
    "0x1.2.3.4",
    "16909060",
    "1.2.3.4 ",
    "2a00::1%eth0",
    "[2a00::1]",
    "2a00::1/64",
    "2a00:::1",
  ];
  for (const text of [...odd, "1.2.3.4\u0000", "１.2.3.4", "example.com"]) assert.equal(judgeAddress(text), undefined, text);
});

test("every IPv4 address has one judgement: by itself, mapped in both spellings, and inside NAT64", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      const judged = judgeAddress(address);
      assert.deepEqual(judgeAddress(`::ffff:${address}`), judged);
      assert.deepEqual(judgeAddress(`::ffff:${hex}`), judged);
      assert.equal(judgeAddress(`64:ff9b::${hex}`) === undefined, judged === undefined);
      assert.equal(judgeAddress(`::${hex}`), undefined);
    }),
  );
});

test("only addresses of 2000::/3, mapped ones and those of NAT64 are ever public", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const judged = judgeAddress(address);
      if (judged === undefined) return;
      assert.ok(isIPv6(address));
      const first = Number.parseInt(new URL(`http://[${address}]/`).hostname.slice(1), 16);
      assert.ok(judged.family === 4 || first === 0x64 || (first >= 0x2000 && first <= 0x3fff), address);
    }),
  );
});

test("any text is judged without an error", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => judgeAddress(text) === undefined || judgeAddress(text)?.address !== ""),
  );
});
