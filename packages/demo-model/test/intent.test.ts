import assert from "node:assert/strict";
import { test } from "node:test";
import { type Intent, parseIntent } from "../src/demo/intent.ts";

const CASES: readonly (readonly [request: string, intent: Intent])[] = [
  ["read the file todo.md in my notes", { kind: "read", path: "todo.md" }],
  ["Read todo.md", { kind: "read", path: "todo.md" }],
  ["Please read me the note called bread.md.", { kind: "read", path: "bread.md" }],
  ["could you show diary/monday.md from my notes?", { kind: "read", path: "diary/monday.md" }],
  ["open '/home/me/my notes.md'", { kind: "read", path: "/home/me/my notes.md" }],
  ["cat /etc/passwd", { kind: "read", path: "/etc/passwd" }],
  ["read passwd in /etc", { kind: "read", path: "/etc/passwd" }],
  ["what is in todo.md?", { kind: "read", path: "todo.md" }],
  ["I would love to see /etc/hostname!", { kind: "read", path: "/etc/hostname" }],
  ["/etc/hostname", { kind: "read", path: "/etc/hostname" }],
  ["read ../secret.txt in my notes", { kind: "read", path: "../secret.txt" }],
  ['write "buy milk" to shopping.md in my notes', { kind: "write", path: "shopping.md", text: "buy milk" }],
  ["Save “a: b” into the file x.md", { kind: "write", path: "x.md", text: "a: b" }],
  ["write buy milk to shopping.md in my notes please", { kind: "write", path: "shopping.md", text: "buy milk" }],
  ["write hello to the world to x.md", { kind: "write", path: "x.md", text: "hello to the world" }],
  ["create a file list.txt with `one two`", { kind: "write", path: "list.txt", text: "one two" }],
  ["create a new note called list.txt containing the text one two", { kind: "write", path: "list.txt", text: "one two" }],
  ["write to list.txt: one two", { kind: "write", path: "list.txt", text: "one two" }],
  ['write "x" to /abs/y.md', { kind: "write", path: "/abs/y.md", text: "x" }],
  ['write "x" in y.md in /abs', { kind: "write", path: "/abs/y.md", text: "x" }],
  ['write "" to empty.md', { kind: "write", path: "empty.md", text: "" }],
  ["run `ls -l`", { kind: "run", command: "ls -l" }],
  ["run the command `echo hi; id` please", { kind: "run", command: "echo hi; id" }],
  ["execute echo 'a b'", { kind: "run", command: "echo 'a b'" }],
  ["run wc -l todo.md in my notes", { kind: "run", command: "wc -l todo.md" }],
  ["run curl https://example.com/", { kind: "run", command: "curl https://example.com/" }],
  ["fetch https://example.com/a?b=c.", { kind: "fetch", url: "https://example.com/a?b=c" }],
  ["can you get http://example.com for me?", { kind: "fetch", url: "http://example.com" }],
  ["show https://example.com/", { kind: "fetch", url: "https://example.com/" }],
  ["list my notes", { kind: "list", path: null }],
  ["show me all the files in my notes", { kind: "list", path: null }],
  ["what files are there?", { kind: "list", path: null }],
  ["list the files in /tmp", { kind: "list", path: "/tmp" }],
  ["", { kind: "other" }],
  ["hello", { kind: "other" }],
  ["what is the meaning of life?", { kind: "other" }],
  ["show me how to bake bread", { kind: "other" }],
  ["write a poem", { kind: "other" }],
  ["run", { kind: "other" }],
  [`read ${"a".repeat(5000)}`, { kind: "other" }],
];

for (const [request, intent] of CASES) {
  test(`parseIntent() takes ${JSON.stringify(request.slice(0, 60))} as ${intent.kind}`, () => {
    assert.deepEqual(parseIntent(request), intent);
  });
}

test("parseIntent() ends soon on long text that almost fits its patterns", () => {
  for (const piece of ["write ", "a to ", "'", '"', " in my notes", "please ", " ", "with ", "x: "]) {
    parseIntent(`write ${piece.repeat(4000 / piece.length)}`);
    parseIntent(piece.repeat(4000 / piece.length));
  }
});
