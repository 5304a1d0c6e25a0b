import assert from "node:assert/strict";
import { test } from "node:test";
import { BOX_PLACES, curlArguments } from "../../src/fetch/curl-arguments.ts";

test("curl's command line is fixed but for the URL and the time", () => {
  assert.deepEqual(
    curlArguments("https://example.com/a?b=c", BOX_PLACES, 29_000).join(" "),
    "-q --silent --show-error --include --globoff --path-as-is --http1.1 --proto =http,https --proto-redir =http,https --max-redirs 0 " +
      "--noproxy  --proxy socks5h://localhost/run/boxmaker/egress/proxy.sock --connect-timeout 12 --max-time 30.000 " +
      "--max-filesize 67108864 --user-agent boxmaker --url https://example.com/a?b=c",
  );
  assert.equal(curlArguments("https://example.com/", BOX_PLACES, 1)[0], "-q");
});
