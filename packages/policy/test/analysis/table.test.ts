/** The model's powers, tool by target. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { powersOf } from "../../src/analysis/index.ts";
import { type StateFields, state } from "../rules/support.ts";
import { grantText, NOW, setOf } from "./support.ts";

function linesOf(texts: Readonly<Record<string, string>>, fields: StateFields = {}): readonly string[] {
  return powersOf(setOf(texts), { session: null, state: state(fields), now: NOW }).map(
    ({ tool, target, outcome, reason, grant }) => `${tool} ${target}: ${outcome}${reason === null ? "" : ` ${reason}`} (${grant})`,
  );
}

const TEXTS = {
  home: grantText("read_file", "auto", ["/home/me"]),
  keys: grantText("read_file", "deny", ["/home/me/.ssh"]),
  web: grantText("http_fetch", "auto", ["*.example.com"]),
  paste: grantText("http_fetch", "ask", ["paste.example.com"]),
};

describe("powersOf()", () => {
  test("has a line for each target that the grants tell apart", () => {
    assert.deepEqual(linesOf(TEXTS), [
      "read_file /home/me: auto (home)",
      "read_file /home/me/…: auto (home)",
      "read_file /home/me/.ssh: deny denied_by_grant (keys)",
      "read_file /home/me/.ssh/…: deny denied_by_grant (keys)",
      "read_file /home/me/… (credentials): auto (home)",
      "http_fetch *.example.com: auto (web)",
      "http_fetch paste.example.com: ask (paste)",
    ]);
  });

  test("shows what is left once the session has seen something", () => {
    assert.deepEqual(
      linesOf(TEXTS, { taint: "private" }).filter((line) => line.startsWith("http_fetch")),
      ["http_fetch *.example.com: deny taint (web)", "http_fetch paste.example.com: deny taint (paste)"],
    );
  });

  test("tells apart what predicates tell apart", () => {
    const texts = {
      make: `${grantText("shell", "auto", ["/srv/w"])}[constraints.args]\ncommand = { in = ["make"] }\ncwd = { absent = false }\n`,
    };
    assert.deepEqual(linesOf(texts), ['shell /srv/w, command "make": auto (make)', 'shell /srv/w/…, command "make": auto (make)']);
  });
});
