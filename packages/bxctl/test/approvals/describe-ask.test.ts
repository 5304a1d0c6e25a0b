import assert from "node:assert/strict";
import { test } from "node:test";
import { millisFromTimestamp, quoteText, sha256 } from "@boxmaker/proto";
import { showAsk } from "../../src/approvals/describe-ask.ts";
import { askBlock, DIGEST, EXPIRES } from "../support/asks.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";

const NOW = millisFromTimestamp(EXPIRES) - 250_000;

function show(block = askBlock(), columns = 0): string {
  const { screen, stream } = memoryScreen(columns, { NO_COLOR: "1" });
  showAsk(screen, block.body, NOW);
  return stream.text;
}

test("the block holds everything that gives the call its effect", () => {
  assert.equal(
    show(),
    `approval 41: shell
  command     2 lines, 23 bytes, no newline at the end:
    | "wc -l todo.md"
    | "rm -r old"
  cwd         "/home/anna/notes"
  session     holidays, call 3
  grant       "notes-shell" in "notes.toml"
              sha256 ${sha256("grant")}
  runs in     podman, image "sha256:${sha256("image")}"
  mounts      "/home/anna/notes" writable
              "/home/anna/books" read-only
  hidden      "/home/anna/notes/keys"
              the usual places of credentials (.ssh, .gnupg, .aws, .env, browser profiles, …)
  network     none
  result is   private
  seen so far public
  seen after  private (approving raises it)
  expires     ${EXPIRES} (in 4 min)
  digest      ${DIGEST}
`,
  );
});

test("hosts, an untrusted result, and no change of what was seen are said", () => {
  const label = { taint: "public", untrusted: true };
  const text = show(
    askBlock({
      request: { tool: "http_fetch", arguments: { url: "https://example.org/a" } },
      run: {
        runtime: "process",
        image: null,
        mounts: [],
        masked: [],
        exposed: [],
        host_exec: false,
        hosts: ["example.org", "*.example.net"],
      },
      label,
      before: label,
      after: label,
    }),
  );
  assert.match(text, /\n {2}url {9}"https:\/\/example\.org\/a"\n/u);
  assert.match(
    text,
    /\n {2}runs in {5}process: WITHOUT a sandbox, held by checks of its own\n {2}mounts {6}none\n {2}network {5}"example\.org"\n {14}"\*\.example\.net"\n/u,
  );
  assert.match(
    text,
    /\n {2}result is {3}public, untrusted\n {2}seen so far public, untrusted\n {2}seen after {2}public, untrusted \(no change\)\n/u,
  );
});

test("each line of a content is shown, with its blanks and its end, and none can be taken for a row of the block", () => {
  const content = 'first \t\n\n  grant       "all"\n\u202etype 41\\u202e\r\n';
  const text = show(askBlock({ request: { tool: "write_file", arguments: { path: "/home/anna/a b", content } } }));
  const rows = [
    '  path        "/home/anna/a b"',
    "  content     4 lines, 47 bytes:",
    '    | "first \\u0009"',
    '    | ""',
    '    | "  grant       \\"all\\""',
    '    | "\\u202etype 41\\\\u202e\\u000d"',
  ];
  assert.ok(text.includes(`\n${rows.join("\n")}\n  session `), text);
});

test("a megabyte is shown whole, and no hostile text steers the terminal or reaches its first column", () => {
  const content = `${HOSTILE.join("\n")}\n`.repeat(3000);
  for (const columns of [0, 40, 80]) {
    const text = show(askBlock({ request: { tool: "write_file", arguments: { path: "/a", content } } }), columns);
    assert.equal(findUnsafe(text), undefined);
    const rows = text
      .replaceAll(/\u001b\[\?7[lh]/gu, "")
      .trimEnd()
      .split("\n");
    assert.deepEqual(
      rows.slice(1).filter((row) => !row.startsWith("  ")),
      [],
    );
    if (columns > 0) continue;
    const shown = rows.filter((row) => row.startsWith("    | ")).map((row) => row.slice(6));
    assert.deepEqual(shown, content.trimEnd().split("\n").map(quoteText));
  }
});

test("the names of grants and files are escaped", () => {
  for (const text of HOSTILE) assert.equal(findUnsafe(show(askBlock({ grant: text, grant_file: text }), 80)), undefined);
});

test("the block says that a process is no sandbox", () => {
  const { run } = askBlock().body.ask;
  assert.match(
    show(askBlock({ run: { ...run, runtime: "process", image: null } })),
    /^ {2}runs in {5}process: WITHOUT a sandbox/mu,
  );
});

test("the block says in capitals what is not hidden, and when programs of the host may be changed", () => {
  const { run } = askBlock().body.ask;
  const text = show(askBlock({ run: { ...run, exposed: ["/home/anna/notes/.ssh"], host_exec: true } }));
  assert.match(text, /^ {2}NOT hidden {2}"\/home\/anna\/notes\/\.ssh"/mu);
  assert.match(text, /^ {2}MAY CHANGE {2}what programs of this machine execute/mu);
});

interface JsonObject {
  readonly [key: string]: Json;
}
type Json = string | number | boolean | null | readonly Json[] | JsonObject;

function other(value: string | number | boolean | null): Json {
  if (typeof value === "string") return value === "/a" ? "/b" : `${value}x`;
  if (typeof value === "number") return value + 1;
  return value === null ? "x" : !value;
}

/** Every way to change one value of `value`, with the place of the change. */
function* changesOf(value: Json, place: string): Generator<readonly [string, Json]> {
  if (typeof value !== "object" || value === null) yield [place, other(value)];
  else if (Array.isArray(value)) {
    yield [place, []];
    for (const [index, item] of value.entries()) {
      for (const [at, changed] of changesOf(item as Json, `${place}[${index}]`)) yield [at, value.with(index, changed) as Json];
    }
  } else {
    const object = value as JsonObject;
    for (const [key, item] of Object.entries(object)) {
      for (const [at, changed] of changesOf(item, `${place}.${key}`)) yield [at, { ...object, [key]: changed }];
    }
  }
}

test("whatever differs in a call, its block differs", () => {
  const block = askBlock({
    run: {
      runtime: "podman",
      image: "sha256:0",
      mounts: [{ path: "/a", writable: true }],
      masked: ["/a/b"],
      exposed: ["/a/c"],
      host_exec: true,
      hosts: ["example.org"],
    },
    before: { taint: "public", untrusted: true },
    after: { taint: "private", untrusted: true },
  });
  const shown = show(block);
  let checked = 0;
  for (const [place, body] of changesOf(block.body, "")) {
    const changed = { ...block, body: body as unknown as typeof block.body };
    if (place === ".expires") changed.body = { ...block.body, expires: "2999-01-01T00:00:00.001Z" as typeof block.body.expires };
    assert.notEqual(show(changed), shown, place);
    checked++;
  }
  assert.ok(checked > 25);
});
