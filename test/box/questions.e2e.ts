/** The owner's questions, asked of a whole box while it runs, and of what it leaves on disk afterwards. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Trial, trialFolder } from "./trial.ts";

const BXCTL = join(import.meta.dirname, "../../packages/bxctl/src/main.ts");

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function bxctl(home: string, ...words: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BXCTL, ...words, "--home", home], { encoding: "utf8" }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

async function answered(home: string, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await bxctl(home, ...words);
  assert.deepEqual([code, stderr], [0, ""], words.join(" "));
  return stdout;
}

test("a grant that is typed in the chat holds for its turn and no longer, and the log explains the call by it", async () => {
  await using folder = await trialFolder();
  const { home } = folder;
  const outside = join(folder.path, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "a.md"), "from outside");
  await using trial = new Trial(home, ["--runtime", "process"]);
  trial.type(`/allow read_file ${outside}`);
  await trial.until(/^grant session-1, until the next turn ends/mu);
  trial.type(`read the file ${outside}/a.md`);
  await trial.until(/from outside[\s\S]*^grant session-1 ended$/mu);
  trial.type(`read the file ${outside}/a.md`);
  await trial.until(/denied: no grant allows it/u);
  trial.leave();
  assert.equal((await trial.ended()).code, 0);
  const [, read = ""] = / {2}(\d+) {2}allowed read_file: /u.exec(await answered(home, "audit", "show")) ?? [];
  assert.match(
    await answered(home, "why", read),
    /\n {2}rules {7}"session-1" in "session grant session-1" line 3: auto, by mode = auto\n/u,
  );
  assert.match(await answered(home, "grants", "replay"), /^grants replay: 2 of 2 decisions come to the same\n$/u);
  assert.match(await answered(home, "grants", "suggest"), /\npaths = \[".+\/outside"\]\n/u);
});

test("a session is shown, explained and rewound, labels are shown and taken back, and every decision is explained afterwards", async () => {
  await using folder = await trialFolder();
  const { home, notes } = folder;
  await using trial = new Trial(home, ["--runtime", "process"]);
  const [, session = ""] = await trial.until(/^session (chat-\S+)$/mu);
  trial.type(`/allow read_file ${folder.path}`);
  await trial.until(/^not allowed:\n/mu);
  trial.type("read the file todo.md in my notes");
  await trial.until(/water the tomatoes/u);

  const shown = await answered(home, "session", "show", session);
  assert.match(shown, new RegExp(`^session ${session}: has seen private\n`, "u"));
  assert.match(shown, /\n {2}raised by {3}call 1: read_file, to private \(record \d+\)\n/u);
  assert.match(shown, /\n {2}still auto {2}read_file /u);

  const write = ["write_file", `path=${notes}/new.md`, "content=x", "--session", session];
  const explained = await bxctl(home, "grants", "explain", ...write);
  assert.equal(explained.code, 10, explained.stderr);
  assert.match(explained.stdout, /\n {2}rules {7}"write-notes" in "write-notes\.toml" line \d+: ask, by mode = ask\n/u);
  assert.equal((await bxctl(home, "grants", "explain", "read_file", `path=${notes}/diary/monday.md`)).code, 20);

  trial.type('write "buy bread" to new.md in my notes');
  const [, id = "", digest = ""] = await trial.until(/^approval ([0-9]+):[\s\S]*^ {2}digest +([0-9a-f]{64})$/mu);
  const unseen = await bxctl(home, "approve", id);
  assert.equal(unseen.code, 2);
  assert.match(unseen.stderr, /^bxctl: nobody can be asked here, .+\n$/u);
  const useless = await bxctl(home, "approve", id, "--digest", digest, "--uses", "2");
  assert.equal(useless.code, 1);
  assert.match(useless.stderr, /not approved: a grant would change nothing, since "write-notes" asks .+#exact-grant-useless\n$/u);
  trial.type(id);
  await trial.until(/write_file: done/u);

  assert.match(await answered(home, "label", "show", notes), /below {3}".+\/new\.md": private\n/u);
  await answered(home, "label", "reset", notes);
  assert.match(await answered(home, "label", "show", notes), /no label/u);

  const rewound = await answered(home, "session", "rewind", session, "--to", "0");
  const [, fresh = ""] = /^session (chat-\S+): the first 0 of 2 turns of .+; has seen public\n/u.exec(rewound) ?? [];
  assert.match(await answered(home, "session", "show", fresh), /^session \S+: has seen public\n[\s\S]+ {2}rewound {5}from /u);
  trial.leave();
  assert.equal((await trial.ended()).code, 0);

  const log = await answered(home, "audit", "show", "--session", session);
  const [, read = ""] = / {2}(\d+) {2}allowed read_file: /u.exec(log) ?? [];
  assert.match(log, / {2}\d+ {2}approved by bxctl: decision \d+\n/u);
  const why = await answered(home, "why", read);
  assert.match(why, new RegExp(`^record ${read}: read_file: allowed\n`, "u"));
  assert.match(why, /\n {2}rules {7}"read-notes" in "read-notes\.toml" line \d+: auto, by mode = auto\n/u);
  assert.match(await answered(home, "why", id), /\n {2}answer {6}approved by bxctl; it ran, /u);
  assert.match(
    await answered(home, "grants", "list"),
    /"read-notes" {2}read_file, auto, "read-notes\.toml": in 1 decisions, last /u,
  );
  assert.match(await answered(home, "grants", "verify"), /^T1 holds: /u);
  // Two calls were decided, and the approval of one of them.
  assert.match(await answered(home, "grants", "replay"), /^grants replay: 3 of 3 decisions come to the same\n$/u);
});
