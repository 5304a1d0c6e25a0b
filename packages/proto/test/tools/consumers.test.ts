/** An accepted URL, host or path means the same to everybody who reads it after us. */
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { posix } from "node:path";
import { describe, test } from "node:test";
import { domainToASCII, domainToUnicode, fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { AbsPath, FetchUrl, Host, HostPattern, holdsPath, hostOfUrl, isProperParent, matchesHost } from "../../src/index.ts";

const label = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,4}[a-z0-9])?$/);
const host = fc
  .tuple(fc.array(label, { maxLength: 3 }), fc.stringMatching(/^[a-z][a-z0-9]{0,4}$/))
  .map(([labels, last]) => [...labels, last].join("."));
/** What others have put between and around the parts of a URL. */
const trick = fc.constantFrom(
  "",
  "@",
  ":",
  "//",
  "\\",
  "#",
  "?",
  "%2f",
  "%40",
  ".",
  " ",
  "\t",
  ";",
  "[",
  "]",
  "a@",
  ":80",
  ":443",
  "/",
);
const urlText = fc
  .tuple(fc.constantFrom("http://", "https://", "http:/", "https:", "ftp://"), trick, host, trick, host, trick, fc.webPath())
  .map((parts) => parts.join(""));
const plainUrl = fc
  .tuple(
    fc.constantFrom("http://", "https://"),
    host,
    fc.constantFrom("", ":80", ":443"),
    fc.webPath(),
    trick,
    fc.webQueryParameters(),
  )
  .map(([scheme, name, port, path, odd, query]) => `${scheme}${name}${port}/${path}${odd}?${query}`);

interface Split {
  readonly scheme: string;
  readonly userinfo: string;
  readonly host: string;
  readonly port: string;
  readonly rest: string;
}

/** The regular expression of RFC 3986, appendix B, and an authority taken apart at its last `@` and its last `:`, as curl does. */
function splitLast(text: string): Split {
  const [, , scheme = "", , authority = "", path = "", query = ""] =
    /^(([^:/?#]+):)?(\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/su.exec(text) ?? [];
  const at = authority.lastIndexOf("@");
  const place = authority.slice(at + 1);
  const colon = place.lastIndexOf(":");
  return {
    scheme,
    userinfo: at < 0 ? "" : authority.slice(0, at),
    host: colon < 0 ? place : place.slice(0, colon),
    port: colon < 0 ? "" : place.slice(colon + 1),
    rest: path + query,
  };
}

/** As a careless client does: up to the first `/`, from the first `@`, up to the first `:`. */
function splitFirst(text: string): Split {
  const [scheme = "", ...more] = text.split("://");
  const [authority = ""] = more.join("://").split("/");
  const [before = "", after] = authority.split("@");
  const [name = "", port = ""] = (after ?? before).split(":");
  const rest = text.slice(scheme.length + 3 + authority.length);
  return { scheme, userinfo: after === undefined ? "" : before, host: name, port, rest };
}

/** As WHATWG says, which is what a browser and fetch go by. */
function splitWhatwg(text: string): Split {
  const { protocol, username, password, hostname, port, pathname, search } = new URL(text);
  return { scheme: protocol.slice(0, -1), userinfo: username + password, host: hostname, port, rest: pathname + search };
}

describe("a URL that FetchUrl accepts", () => {
  const isSame = (text: string): boolean => {
    const url = FetchUrl.safeParse(text);
    if (!url.success) return false;
    const name = hostOfUrl(url.data);
    const usual = { http: "80", https: "443" };
    for (const split of [splitLast(text), splitFirst(text), splitWhatwg(text)]) {
      assert.deepEqual([split.host, split.userinfo], [name, ""], text);
      assert.ok(split.scheme === "http" || split.scheme === "https", text);
      // WHATWG drops the port that goes without saying.
      assert.ok(split.port === "" || split.port === usual[split.scheme], text);
      assert.ok(split.rest.startsWith("/"), text);
    }
    assert.equal(splitLast(text).rest, splitFirst(text).rest, text);
    return true;
  };

  test("has one scheme, host and port for the parsers of RFC 3986, WHATWG, and those that cut at the first or at the last sign", () => {
    fc.assert(
      fc.property(urlText, (text) => {
        isSame(text);
      }),
      { numRuns: 3000 },
    );
    let accepted = 0;
    fc.assert(
      fc.property(plainUrl, (text) => {
        if (isSame(text)) accepted++;
      }),
      { numRuns: 1000 },
    );
    assert.ok(accepted > 100, `expected that some are accepted, got ${accepted}`);
  });

  test("is one argument and one line, for a command, a header and a log", () => {
    fc.assert(
      fc.property(fc.oneof(urlText, plainUrl), (text) => {
        const url = FetchUrl.safeParse(text);
        if (url.success) assert.match(url.data, /^https?:\/\/[\x21-\x7e]+$/u);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a host that Host accepts", () => {
  const text = fc.oneof(
    host,
    fc.tuple(host, trick, host).map((parts) => parts.join("")),
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.constantFrom("0x7f.1", "1", "017700000001", "1.2.3.4.", "::1", "xn--a", "a.0x1", "127.1"),
  );

  test("is an address to nobody, and the same name to IDNA and WHATWG", () => {
    fc.assert(
      fc.property(text, (candidate) => {
        const parsed = Host.safeParse(candidate);
        if (!parsed.success) return;
        assert.equal(isIP(candidate), 0);
        // inet_aton(3) reads four, three, two or one number, each decimal, octal or hexadecimal.
        assert.doesNotMatch(candidate, /^(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+)){0,3}$/u);
        // A label that begins with xn-- may be no name at all; then no URL has it.
        if (/(?:^|\.)xn--/u.test(candidate)) return;
        assert.equal(domainToASCII(candidate), candidate);
        assert.equal(domainToUnicode(candidate), candidate);
        assert.equal(new URL(`https://${candidate}/`).hostname, candidate);
      }),
      { numRuns: 2000 },
    );
  });

  test("fits a pattern as it fits the regular expression that the pattern would be", () => {
    fc.assert(
      fc.property(host, host, label, fc.boolean(), (of, other, front, isBelow) => {
        const pattern = HostPattern.parse(`*.${of}`);
        const candidate = Host.parse(isBelow ? `${front}.${of}` : other);
        const expression = new RegExp(`^[^.]+\\.${of.replaceAll(".", "\\.")}$`, "u");
        assert.equal(matchesHost(pattern, candidate), expression.test(candidate));
      }),
    );
  });
});

describe("a path that AbsPath accepts", () => {
  const component = fc.constantFrom(
    "a",
    "b",
    "ab",
    "..",
    ".",
    "",
    "..a",
    "a..",
    "...",
    "~",
    "*",
    "a b",
    "%2e%2e",
    "\u00fc",
    "u\u0308",
    "\\",
    ":",
    "-r",
  );
  const path = fc.array(component, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`);

  test("is itself to normalising, resolving, joining, and the way to a file URL and back", () => {
    fc.assert(
      fc.property(path, (text) => {
        if (!AbsPath.safeParse(text).success) return;
        for (const other of [
          posix.normalize(text),
          posix.resolve("/elsewhere", text),
          posix.join("/", text),
          fileURLToPath(pathToFileURL(text)),
        ]) {
          assert.equal(other, text);
        }
        assert.equal(posix.join(posix.dirname(text), posix.basename(text)), text);
        assert.equal(Buffer.from(text).toString(), text);
      }),
      { numRuns: 2000 },
    );
  });

  test("lies below another exactly where the way from that one leads only down", () => {
    fc.assert(
      fc.property(path, path, (above, below) => {
        const [parent, child] = [AbsPath.safeParse(above), AbsPath.safeParse(below)];
        if (!parent.success || !child.success) return;
        const way = posix.relative(above, below);
        const leadsDown = way !== ".." && !way.startsWith("../");
        assert.equal(holdsPath(parent.data, child.data), leadsDown, `${above} ${below}`);
        assert.equal(isProperParent(parent.data, child.data), leadsDown && way !== "", `${above} ${below}`);
      }),
      { numRuns: 3000 },
    );
  });
});
