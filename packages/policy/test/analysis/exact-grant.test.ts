/** Grants written from a call: read back as what they were made for, and matching nothing else. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApprovalId, AskBlock, CallId, SessionId, sha256, type ToolCall, timestampFromMillis } from "@boxmaker/proto";
import fc from "fast-check";
import { exactGrant, explain, loadDraft, restrictionsOn } from "../../src/analysis/index.ts";
import { parseGrantFile } from "../../src/grants/index.ts";
import { decide } from "../../src/rules/decide.ts";
import { completeGrant, type Grant } from "../../src/rules/grant.ts";
import type { ValidGrantSet } from "../../src/rules/grant-set.ts";
import { type StateFields, state } from "../rules/support.ts";
import { callOf, grantText, NOW, setOf } from "./support.ts";

const SESSION = SessionId.parse("chat-1");
const BOX = { runtime: "podman", image: `sha256:${"a".repeat(64)}` } as const;

/** The block that an owner is shown of a call that asks under these grants. */
function blockOf(set: ValidGrantSet, call: ToolCall, fields: StateFields = {}): AskBlock {
  const request = { session: SESSION, call: CallId.parse(1), tool: call.tool, argumentsText: JSON.stringify(call.arguments) };
  const verdict = decide(request, set, state(fields), NOW, BOX);
  if (verdict.kind !== "ask") return assert.fail(`expected an ask, got ${verdict.kind}`);
  const { ask } = verdict;
  const { session, call: id, grant, run, label, before, after } = ask;
  const about = { session, call: id, request: ask.request, grant, grant_file: ask.grantFile, grant_sha256: ask.grantSha256 };
  return AskBlock.parse({ approval: ApprovalId.parse(3), ...about, run, label, before, after });
}

function readBack(text: string): Grant {
  const { whole, problems } = parseGrantFile(text);
  return whole === undefined ? assert.fail(JSON.stringify(problems)) : completeGrant(whole);
}

/** Grants under which calls ask only because the session is untrusted: no restriction that an exact grant couldn't lift. */
const SET = setOf({
  drafts: grantText("write_file", "auto", ["/srv/drafts"]),
  notes: grantText("read_file", "auto", ["/srv/notes"], 'if_untrusted = "ask"'),
  work: grantText("shell", "auto", ["/srv/work"]),
  web: grantText("http_fetch", "auto", ["*.example.com"]),
});

const CALLS: readonly (readonly [ToolCall, ToolCall])[] = [
  [callOf("write_file", { path: "/srv/drafts/a", content: "x" }), callOf("write_file", { path: "/srv/drafts/b", content: "x" })],
  [callOf("read_file", { path: "/srv/notes/a" }), callOf("read_file", { path: "/srv/notes/b" })],
  [callOf("shell", { command: "make", cwd: "/srv/work" }), callOf("shell", { command: "make all", cwd: "/srv/work" })],
  [callOf("shell", { command: "make" }), callOf("shell", { command: "make", cwd: "/srv/work" })],
  [callOf("http_fetch", { url: "https://a.example.com/x" }), callOf("http_fetch", { url: "https://a.example.com/y" })],
];

describe("exactGrant()", () => {
  test("lets the approved call run, and no other, in the state in which it was approved", () => {
    for (const [call, other] of CALLS) {
      const fields = { untrusted: true, taint: "public" } as const;
      const exact = exactGrant(blockOf(SET, call, fields), { id: "exact", uses: 2, expires: null });
      const loaded = exact.kind === "grant" ? exact.loaded : assert.fail();
      const set = { ...SET, grants: [...SET.grants, loaded] };
      const outcomeOf = (one: ToolCall, at: StateFields): string =>
        explain({ call: one, session: SESSION, set, state: state(at), now: NOW }).outcome;
      assert.equal(outcomeOf(call, fields), "allowed", JSON.stringify(call));
      assert.equal(outcomeOf(other, fields), "ask", JSON.stringify(other));
      assert.equal(outcomeOf(call, { ...fields, spent: { exact: 2 } }), "ask");
      assert.notEqual(outcomeOf(call, { ...fields, taint: "private" }), "allowed");
    }
  });

  test("reads back from its text as the same grant", () => {
    for (const [call] of CALLS) {
      const exact = exactGrant(blockOf(SET, call, { untrusted: true }), {
        id: "exact",
        uses: 1,
        expires: timestampFromMillis(Date.UTC(2027, 0, 1)),
      });
      const { grant, text, sha256: hash, file } = exact.kind === "grant" ? exact.loaded : assert.fail();
      assert.deepEqual(readBack(text), grant);
      assert.deepEqual([hash, file], [sha256(text), "exact.toml"]);
    }
  });

  test("needs a folder that the call's box holds", () => {
    const block = blockOf(SET, callOf("shell", { command: "make" }), { untrusted: true });
    assert.deepEqual(exactGrant({ ...block, run: { ...block.run, mounts: [] } }, { id: "exact", uses: null, expires: null }), {
      kind: "no_place",
    });
  });
});

describe("restrictionsOn()", () => {
  test("names the grants that would make the call ask all the same", () => {
    const set = setOf({
      careful: grantText("http_fetch", "ask", ["example.com"]),
      web: grantText("http_fetch", "auto", ["example.com"]),
    });
    const block = blockOf(set, callOf("http_fetch", { url: "https://example.com/" }));
    assert.deepEqual(restrictionsOn(block, "terminal", set), ["careful"]);
  });
});

describe("loadDraft()", () => {
  test("writes any text so that it reads back as the same, on lines that show all of it", () => {
    const anyText = fc
      .string({ unit: "binary", maxLength: 40 })
      .filter((text) => text.isWellFormed() && text !== "" && !text.includes("\0"));
    fc.assert(
      fc.property(anyText, anyText, (command, remark) => {
        const { text, grant } = loadDraft({
          id: "x",
          tool: "shell",
          mode: "auto",
          paths: ["/srv/a"],
          args: { command: [command], cwd: null },
          remarks: [remark],
        });
        assert.deepEqual(readBack(text).args, grant.args);
        assert.match(text, /^(?:[^\p{C}\p{Zl}\p{Zp}]|\n)*$/u);
        assert.equal(text.split("\n").length, 12);
      }),
    );
  });
});
