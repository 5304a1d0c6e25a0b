/** Which boxes the pool starts, keeps and ends. The boxes are scripts without mounts; what real ones hold is tested elsewhere. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { AbsPath } from "@boxmaker/proto";
import type { BoxContents } from "../../../src/runner/box-contents.ts";
import { BoxPool, type BoxPoolOptions, sweepPoolDirectory } from "../../../src/runner/pool/box-pool.ts";
import type { WaitingBox } from "../../../src/runner/pool/waiting-box.ts";
import { buildRunSpec, type RunSpec } from "../../../src/runner/run-spec.ts";
import { RunnerConfig } from "../../../src/runner/runner-config.ts";
import { absPath, decideCall } from "../decisions.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const CONTENTS: BoxContents = { layers: [], egress: null };
const NO_CALL = new AbortController().signal;

/** Says which process it is, as bubblewrap does, and echoes what it is given. */
const GOOD = `printf '{"child-pid": %d}' $$ >&4; exec cat`;

interface Rig extends AsyncDisposable {
  readonly pool: BoxPool;
  /** What was started, in order. */
  readonly lives: number[];
  readonly files: AbsPath[];
  start(session: string, running?: number): Promise<void>;
  stop(): Promise<void>;
}

interface RigOptions {
  readonly config?: object;
  readonly script?: string;
  readonly processFile?: boolean;
  readonly readyMs?: number;
}

async function rig({ config = {}, script = GOOD, processFile = false, readyMs = 10_000 }: RigOptions = {}): Promise<Rig> {
  const home = temporaryFolder();
  const lives: number[] = [];
  const files: AbsPath[] = [];
  const launcher: BoxPoolOptions["launcher"] = {
    launchAhead: (_, lifeMs, file) => {
      lives.push(lifeMs);
      files.push(file);
      return {
        program: "/bin/sh",
        args: ["-c", script, "sh", file],
        environment: { PATH: "/usr/bin:/bin" },
        filter: null,
        reportsChild: true,
        processFile: processFile ? file : null,
        stop: async (killChild) => killChild(),
      };
    },
  };
  const options = { runtime: "bubblewrap", pool: 2, ...config };
  const directory = await sweepPoolDirectory(home.path);
  const pool = new BoxPool({ launcher, config: RunnerConfig.parse(options), directory, readyMs });
  return {
    pool,
    lives,
    files,
    start: async (session, running = 0) => {
      const before = lives.length;
      pool.startAfter(specOf(session), CONTENTS, () => running);
      await until(() => lives.length > before);
    },
    stop: () => pool[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await pool[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

function specOf(session: string): RunSpec {
  const call = { tool: "shell", arguments: { command: "true" }, paths: ["/var/tmp"], session } as const;
  return buildRunSpec(decideCall({ name: "bubblewrap", image: null }, call));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Longer than the pool takes to start what it means to. */
async function aWhile(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
}

async function echoOf(box: WaitingBox, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let said = "";
  const starting = box.serve(Buffer.from(text), {
    onOutput: (chunk) => {
      said += chunk.toString("latin1");
    },
    onError: resolve,
    onClose: () => resolve(said),
  });
  assert.equal(starting.kind, "started");
  return promise;
}

test("a box is started after a call, serves one, and is taken once only", async () => {
  await using own = await rig();
  assert.equal(own.pool.claim(specOf("a")), undefined);
  await own.start("a");
  assert.equal(own.pool.waiting, 1);
  assert.equal(own.pool.claim(specOf("b")), undefined);
  const box = own.pool.claim(specOf("a"));
  assert.ok(box !== undefined);
  assert.equal(own.pool.claim(specOf("a")), undefined);
  assert.equal(await box.ready, true);
  assert.equal(box.fits(CONTENTS), true);
  assert.equal(box.fits({ layers: [{ kind: "pin", path: absPath("/var") }], egress: null }), false);
  own.pool.onServed(box);
  assert.equal(await echoOf(box, "one call"), "one call");
  await box.ended;
  assert.equal(box.fits(CONTENTS), false);
  assert.deepEqual([own.pool.waiting, own.pool.served], [0, 1]);
});

test("a box lives as long as it may wait and its call may take", async () => {
  await using own = await rig({ config: { pool_idle_ms: 7000, shell_ms: 3000 } });
  await own.start("a");
  assert.deepEqual(own.lives, [20_000]);
});

test("a full pool ends the box that waits longest; one that is used again counts as new", async () => {
  await using own = await rig();
  await own.start("a");
  await own.start("b");
  own.pool.startAfter(specOf("a"), CONTENTS, () => 0);
  await aWhile();
  assert.equal(own.lives.length, 2);
  await own.start("c");
  assert.equal(own.pool.waiting, 2);
  assert.equal(own.pool.claim(specOf("b")), undefined);
  for (const session of ["a", "c"]) {
    const box = own.pool.claim(specOf(session));
    assert.ok(box !== undefined);
    box.dismiss();
    await box.ended;
  }
});

test("no box is started ahead where as many run as may, and those that wait make room", async () => {
  await using own = await rig({ config: { max_boxes: 2 } });
  own.pool.startAfter(specOf("a"), CONTENTS, () => 2);
  await aWhile();
  assert.equal(own.lives.length, 0);
  await own.start("a", 1);
  await own.start("b", 0);
  const first = own.pool.claim(specOf("b"));
  own.pool.makeRoom(1);
  assert.equal(own.pool.waiting, 1);
  own.pool.makeRoom(2);
  assert.equal(own.pool.waiting, 0);
  first?.dismiss();
});

test("a pool of none starts none", async () => {
  await using own = await rig({ config: { pool: 0 } });
  own.pool.startAfter(specOf("a"), CONTENTS, () => 0);
  await aWhile();
  assert.equal(own.lives.length, 0);
});

test("a box that nobody calls ends", async () => {
  await using own = await rig({ config: { pool_idle_ms: 50 } });
  await own.start("a");
  await until(() => own.pool.waiting === 0);
  assert.equal(own.pool.claim(specOf("a")), undefined);
});

test("when the grants change, boxes that wait end, and those that were to be started aren't", async () => {
  await using own = await rig();
  await own.start("a");
  own.pool.startAfter(specOf("b"), CONTENTS, () => 0);
  own.pool.dropAll();
  assert.equal(own.pool.claim(specOf("a")), undefined);
  await aWhile();
  assert.deepEqual([own.lives.length, own.pool.waiting], [1, 0]);
  await own.start("b");
  assert.equal(own.pool.waiting, 1);
});

test("a pool that is closed starts nothing, and is gone when its boxes are", async () => {
  const script = `: > "$1.alive"; ${GOOD.replace("exec ", "")}; rm "$1.alive"`;
  await using own = await rig({ script });
  await own.start("a");
  const [file = absPath("/")] = own.files;
  await until(() => existsSync(`${file}.alive`));
  own.pool.startAfter(specOf("b"), CONTENTS, () => 0);
  await own.stop();
  assert.equal(existsSync(`${file}.alive`), false);
  own.pool.startAfter(specOf("c"), CONTENTS, () => 0);
  await aWhile();
  assert.deepEqual([own.lives.length, own.pool.waiting], [1, 0]);
});

test("a box that ends while it waits, speaks before it is asked or can't be started is noticed, and serves nobody", async () => {
  for (const script of [`${GOOD.slice(0, -8)}`, `printf '{"child-pid": %d}' $$ >&4; echo hi; exec cat`, "exit 1"]) {
    await using own = await rig({ script });
    await own.start("a");
    await until(() => own.pool.waiting === 0);
    assert.equal(own.pool.claim(specOf("a")), undefined, script);
  }
  await using killed = await rig();
  await killed.start("a");
  const box = killed.pool.claim(specOf("a"));
  assert.ok(box !== undefined);
  assert.equal(await box.ready, true);
  box.dismiss();
  await box.ended;
  assert.deepEqual([box.isGone, box.fits(CONTENTS)], [true, false]);
});

test("a box that isn't complete in time doesn't serve, and whoever waits for it may leave", async () => {
  await using own = await rig({ script: "exec cat", readyMs: 100 });
  await own.start("a");
  const slow = own.pool.claim(specOf("a"));
  assert.ok(slow !== undefined);
  assert.equal(await slow.ready, false);
  assert.equal(slow.fits(CONTENTS), false);
  slow.dismiss();
  await using later = await rig({ script: "exec cat", readyMs: 60_000 });
  await later.start("a");
  const left = later.pool.claim(specOf("a"));
  await left?.readyOr(AbortSignal.abort());
  left?.dismiss();
  assert.equal(await left?.ready, false);
});

test("the first process is also read from a file, which is removed after the box", async () => {
  await using own = await rig({ script: 'echo $$ > "$1"; exec cat', processFile: true });
  await own.start("a");
  const box = own.pool.claim(specOf("a"));
  assert.ok(box !== undefined);
  assert.equal(await box.ready, true);
  const [file = absPath("/")] = own.files;
  writeFileSync(file, "not a number");
  assert.equal(box.fits(CONTENTS), false);
  box.dismiss();
  await until(() => !existsSync(file));
});

test("sweepPoolDirectory() leaves nothing of an earlier brokerd", async () => {
  using home = temporaryFolder();
  const directory = await sweepPoolDirectory(home.path);
  writeFileSync(`${directory}/left`, "");
  await sweepPoolDirectory(home.path);
  assert.deepEqual(readdirSync(directory), []);
});

test("nobody waits for a box when the call is over before it is asked", async () => {
  await using own = await rig();
  await own.start("a");
  const box = own.pool.claim(specOf("a"));
  await box?.readyOr(NO_CALL);
  assert.equal(await box?.ready, true);
  box?.dismiss();
});

test("where boxes are never seen to be complete no more are started, so that no call waits for one", async () => {
  await using own = await rig({ script: "exec cat", readyMs: 50 });
  for (let box = 0; box < 3; box++) {
    await own.start("a");
    await until(() => own.pool.waiting === 0);
  }
  own.pool.startAfter(specOf("a"), CONTENTS, () => 0);
  await aWhile();
  assert.equal(own.lives.length, 3);
});
