/** The command line in this process: what each command says of itself, and of words that it doesn't understand. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { runProgram } from "../src/program.ts";
import { findUnsafe } from "./support/corpus.ts";

async function run(words: readonly string[]) {
  const stdout = new PassThrough().setEncoding("utf8");
  const stderr = new PassThrough().setEncoding("utf8");
  const onInterrupt = (): Disposable => ({ [Symbol.dispose]: () => undefined });
  const status = await runProgram(words, { stdin: new PassThrough(), stdout, stderr, env: {}, onInterrupt });
  const text = (stream: PassThrough): string => String(stream.read() ?? "");
  return { status, stdout: text(stdout), stderr: text(stderr) };
}

test("every command has help with an example", async () => {
  const commands = [
    "",
    "chat",
    "sessions",
    "session show",
    "session rewind",
    "session export",
    "label show",
    "label reset",
    "grants replay",
    "grants suggest",
    "approvals",
    "approve",
    "refuse",
    "grants check",
    "grants list",
    "grants show",
    "grants explain",
    "grants verify",
    "grants test",
    "grants diff",
    "audit verify",
    "audit show",
    "audit tail",
    "audit why",
    "audit checkpoint",
    "audit key",
    "audit prove",
    "audit check-proof",
    "why",
    "status",
  ];
  for (const command of commands) {
    const { status, stdout, stderr } = await run([...command.split(" ").filter(Boolean), "--help"]);
    assert.deepEqual([status, stderr], [0, ""], command);
    assert.match(
      stdout,
      new RegExp(`^Usage: bxctl ${command}(.*\n)*\nExample:\n {2}bxctl ${command === "" ? "chat" : command}.*\n$`, "u"),
    );
  }
});

test("a command line that isn't understood is status 2, and what it says of it is escaped", async () => {
  for (const words of [
    [],
    ["nonsense\u001b[2J"],
    ["chat", "--nonsense\u202e"],
    ["chat", "extra"],
    ["chat", "--session"],
    ["chat", "--session", "Not An Id\u001b"],
    ["chat", "--say", ""],
    ["chat", "--say", "  "],
    ["approve"],
    ["approve", "41", "42"],
    ["approve", "+41"],
    ["refuse", "４１"],
    ["session", "show", "../x"],
    ["session"],
    ["session", "rewind", "a"],
    ["session", "rewind", "a", "--to", "x"],
    ["label"],
    ["label", "reset", "a\u001b"],
    ["grants"],
    ["grants", "explain"],
    ["grants", "explain", "shell", "ls\u001b"],
    ["grants", "explain", "shell", "--taint", "top"],
    ["grants", "test"],
    ["grants", "diff", "one"],
    ["audit"],
    ["why"],
    ["why", "x\u001b"],
    ["audit", "show", "--since", "soon\u001b"],
    ["audit", "tail", "--session", "Not An Id"],
  ]) {
    const { status, stdout, stderr } = await run([...words, "--home", "/nonexistent"].slice(0, words.length === 0 ? 0 : undefined));
    assert.deepEqual([status, stdout], [2, ""], words.join(" "));
    assert.notEqual(stderr, "");
    assert.equal(findUnsafe(stderr), undefined);
  }
});
