import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { BoxDone, encodeMessage, MAX_FRAME } from "@boxmaker/proto";
import type { Launch } from "../../src/runner/box-child.ts";
import { type Box, startBox } from "../../src/runner/box-process.ts";
import type { RunOutcome } from "../../src/runner/runtime.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const OUTPUT_CAP = 1000;

interface FakeOptions {
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  readonly stop?: Launch["stop"];
  readonly input?: Buffer;
  readonly program?: string;
  readonly reportsChild?: boolean;
}

/** A box that is a shell script; $1 is a file with the given bytes. */
function start(script: string, file: string = "/dev/null", options: FakeOptions = {}): Box {
  const { limitMs = 30_000, signal = new AbortController().signal, input = Buffer.alloc(0), program = "/bin/sh" } = options;
  const stop = options.stop ?? (async (killChild): Promise<void> => killChild());
  const launch = {
    program,
    args: ["-c", script, "sh", file],
    environment: { PATH: "/usr/bin:/bin" },
    filter: null,
    reportsChild: options.reportsChild ?? false,
    stop,
  };
  return startBox(launch, { input, limitMs, outputCap: OUTPUT_CAP, signal });
}

function frame(content: string): Buffer {
  const message = BoxDone.parse({ kind: "box_done", body: { status: "ok", content, truncated: false } });
  return encodeMessage(BoxDone, { id: 1, final: true, message });
}

function octal(bytes: Buffer): string {
  return `printf '${[...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}'`;
}

async function outcomeOf(script: string, options: FakeOptions = {}): Promise<RunOutcome> {
  const box = start(script, "/dev/null", options);
  const outcome = await box.answer;
  await box.ended;
  return outcome;
}

const ANSWER = octal(frame("hi"));
const HI = { kind: "done", status: "ok", content: "hi", truncated: false } as const;

test("a box answers when its frame is there, whatever its exit status and whatever follows", async () => {
  for (const script of [ANSWER, `${ANSWER}; exit 125`, `${ANSWER}; echo more`, `${ANSWER}; kill -9 $$`]) {
    assert.deepEqual(await outcomeOf(script), HI);
  }
});

test("a box that there are no descriptors for isn't started, and says so, and nothing else ends", () => {
  const program = new URL("starved-program.ts", import.meta.url).pathname;
  const run = spawnSync("/bin/sh", ["-c", 'ulimit -n 64; exec "$0" "$1"', process.execPath, program], { encoding: "utf8" });
  assert.equal(run.stderr, "");
  assert.deepEqual(JSON.parse(run.stdout), { kind: "error", code: "start_failed", detail: "spawn /bin/true EMFILE" });
});

test("a box answers before it has ended, and is ended when it doesn't do so by itself", async () => {
  const box = start(`${ANSWER}; exec sleep 100`);
  const first = await Promise.race([box.answer, box.ended]);
  assert.deepEqual(first, HI);
  await box.ended;
});

test("a box gets its request on standard input, and may leave it unread", async () => {
  const request = Buffer.from("x".repeat(1_000_000));
  const count = octal(frame("")).length;
  assert.ok(count > 0);
  assert.deepEqual(await outcomeOf(`test "$(wc -c)" = 1000000 && ${ANSWER}`, { input: request }), HI);
  assert.deepEqual(await outcomeOf(`exec <&-; ${ANSWER}`, { input: request }), HI);
});

test("a box without a frame is an error by its exit status, and what it says goes to the detail only", async () => {
  const codes: readonly (readonly [string, string])[] = [
    ["exit 0", "no_answer"],
    ["exit 1", "no_answer"],
    ["exit 2", "no_answer"],
    ["exit 125", "start_failed"],
    ["exit 126", "start_failed"],
    ["exit 127", "start_failed"],
    ["exit 137", "killed"],
    ["kill -9 $$", "killed"],
    ["kill -11 $$", "no_answer"],
    ["printf '\\000\\000\\000'", "no_answer"],
    ["printf '\\377\\377\\377\\377'", "no_answer"],
    ["printf '\\000\\000\\000\\002{}'", "no_answer"],
    ["echo some other output of four bytes or more", "no_answer"],
  ];
  for (const [script, code] of codes) {
    const outcome = await outcomeOf(script);
    assert.ok(outcome.kind === "error", script);
    assert.equal(outcome.code, code, script);
  }
  const noisy = await outcomeOf("echo trouble >&2; head -c 100000 /dev/zero >&2; exit 3");
  assert.ok(noisy.kind === "error" && noisy.detail.startsWith("exit status 3, closed: trouble\n"));
  assert.ok(noisy.detail.length < 5000);
});

test("a box whose program isn't there has not started", async () => {
  const outcome = await outcomeOf("true", { program: "/nonexistent/podman" });
  assert.ok(outcome.kind === "error" && outcome.code === "start_failed");
});

test("a box that floods its output before, or after, its answer is read on and dropped", async () => {
  const flood = await outcomeOf("head -c 20000000 /dev/zero | tr '\\0' '\\377'");
  assert.ok(flood.kind === "error" && flood.code === "no_answer");
  assert.deepEqual(await outcomeOf(`${ANSWER}; head -c 20000000 /dev/zero`), HI);
});

test("an answer beyond the cap is cut, at a character", async () => {
  using folder = temporaryFolder();
  writeFileSync(folder.at("answer"), frame("ü".repeat(MAX_FRAME / 8)));
  const box = start('cat "$1"', folder.at("answer"));
  const outcome = await box.answer;
  await box.ended;
  assert.ok(outcome.kind === "done" && outcome.truncated);
  assert.match(outcome.content, /^ü+$/u);
  assert.ok(Buffer.byteLength(outcome.content) <= OUTPUT_CAP + 4096);
});

test("a box is stopped at its limit, and nothing that it says afterwards counts", async () => {
  const outcome = await outcomeOf("exec sleep 100", { limitMs: 200 });
  assert.deepEqual(outcome, { kind: "error", code: "timed_out", detail: "still running after 200 ms" });
  const late = await outcomeOf(`trap '' TERM; sleep 1; ${ANSWER}`, {
    limitMs: 100,
    // Stopping takes so long that the box answers meanwhile.
    stop: async () => new Promise((resolve) => setTimeout(resolve, 1500)),
  });
  assert.ok(late.kind === "error" && late.code === "timed_out");
});

test("the answer of a stopped box comes although something holds its pipes and stopping never ends", async () => {
  using folder = temporaryFolder();
  const never = Promise.withResolvers<void>();
  const script = `sh -c 'echo $$ > ${folder.at("pid")}; exec sleep 1000' & exec sleep 1000`;
  const box = start(script, "/dev/null", {
    limitMs: 300,
    stop: async (killChild) => {
      killChild();
      await never.promise;
    },
  });
  try {
    const outcome = await box.answer;
    assert.ok(outcome.kind === "error" && outcome.code === "timed_out");
  } finally {
    never.resolve();
    process.kill(Number(readFileSync(folder.at("pid"), "utf8")), "SIGKILL");
  }
  await box.ended;
});

test("a box that has exited doesn't keep its answer waiting for a process that holds the pipes", async () => {
  using folder = temporaryFolder();
  const script = `sh -c 'echo $$ > ${folder.at("pid")}; exec sleep 1000' & while ! test -s ${folder.at("pid")}; do :; done; exit 125`;
  const box = start(script);
  try {
    const outcome = await box.answer;
    assert.ok(outcome.kind === "error" && outcome.code === "start_failed");
    await box.ended;
  } finally {
    process.kill(Number(readFileSync(folder.at("pid"), "utf8")), "SIGKILL");
  }
});

test("aborting the signal stops a box, one that is about to start included", async () => {
  const controller = new AbortController();
  const box = start("exec sleep 100", "/dev/null", { signal: controller.signal });
  controller.abort();
  assert.deepEqual(await box.answer, { kind: "error", code: "cancelled", detail: "brokerd is stopping" });
  await box.ended;
  const outcome = await outcomeOf("exec sleep 100", { signal: AbortSignal.abort() });
  assert.ok(outcome.kind === "error" && outcome.code === "cancelled");
});

test("a box is ended by the first process in it, where that is known, and by its program where that doesn't help", async () => {
  const report = "sleep 1000 & printf '{\\n  \"child-pid\": %s\\n}' $! >&4; exec 4>&-";
  const byChild = await outcomeOf(`${report}; wait; exit 3`, { limitMs: 500, reportsChild: true });
  assert.ok(byChild.kind === "error" && byChild.code === "timed_out");
  const stubborn = await outcomeOf(`${report}; exec sleep 1000`, { limitMs: 500, reportsChild: true });
  assert.ok(stubborn.kind === "error" && stubborn.code === "timed_out");
  for (const lie of ["999999999", "1.5", "0", "x"]) {
    const script = `echo '"child-pid": ${lie}' >&4; exec sleep 1000`;
    const outcome = await outcomeOf(script, { limitMs: 300, reportsChild: true });
    assert.ok(outcome.kind === "error" && outcome.code === "timed_out");
  }
});

test("a box that was killed from outside is cleaned up after", async () => {
  let stops = 0;
  const outcome = await outcomeOf("kill -9 $$", {
    stop: async (killChild) => {
      stops++;
      killChild();
    },
  });
  assert.ok(outcome.kind === "error" && outcome.code === "killed");
  assert.equal(stops, 1);
});

test("a box has no variable of brokerd's environment but what it is given", async () => {
  using folder = temporaryFolder();
  await outcomeOf(`env > ${folder.at("env")}`);
  assert.ok(existsSync(folder.at("env")));
  const names = readFileSync(folder.at("env"), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("=")[0]);
  // The shell adds its own.
  assert.deepEqual(
    names.filter((name) => name !== "PWD" && name !== "OLDPWD"),
    ["PATH"],
  );
});
