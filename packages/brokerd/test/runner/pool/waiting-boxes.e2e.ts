/** What can happen while a box waits for its call, in each sandbox that this machine has. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildRunSpec, type RunSpec } from "../../../src/runner/run-spec.ts";
import type { RunOutcome, Runtime } from "../../../src/runner/runtime.ts";
import { decideCall } from "../decisions.ts";
import { countProcesses, SANDBOXES } from "../sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "../temporary-folder.ts";
import { untilGone, untilThere } from "../waiting.ts";
import { poolOf, startAhead, until } from "./start-ahead.ts";

const SHELL_MS = 4000;

/** A grant's folder with something of each kind that is covered in it. */
function fill(folder: TemporaryFolder): void {
  mkdirSync(folder.at("grant/project/.git/hooks"), { recursive: true });
  mkdirSync(folder.at("grant/.ssh"));
  writeFileSync(folder.at("grant/.ssh/id"), "secret");
  writeFileSync(folder.at("grant/.env"), "secret");
  writeFileSync(folder.at("grant/plain"), "first");
}

interface Change {
  readonly name: string;
  /** Whether the box that waits is still as good as a new one. */
  readonly fits: boolean;
  readonly make: (folder: TemporaryFolder) => void;
}

const CHANGES: readonly Change[] = [
  { name: "nothing", fits: true, make: () => undefined },
  {
    name: "a file's content, and a new file",
    fits: true,
    make: (folder) => {
      writeFileSync(folder.at("grant/plain"), "second");
      writeFileSync(folder.at("grant/new"), "new");
    },
  },
  {
    name: "a masked file, by a rename over it",
    fits: false,
    make: (folder) => {
      writeFileSync(folder.at("grant/.env.new"), "secret");
      renameSync(folder.at("grant/.env.new"), folder.at("grant/.env"));
    },
  },
  {
    name: "a masked file, removed and made anew with, perhaps, the same number",
    fits: false,
    make: (folder) => {
      unlinkSync(folder.at("grant/.env"));
      writeFileSync(folder.at("grant/.env"), "secret");
    },
  },
  {
    name: "a masked file's name, to the same file",
    fits: false,
    make: (folder) => {
      linkSync(folder.at("grant/.env"), folder.at("kept"));
      unlinkSync(folder.at("grant/.env"));
      linkSync(folder.at("kept"), folder.at("grant/.env"));
    },
  },
  {
    name: "a masked folder",
    fits: false,
    make: (folder) => {
      renameSync(folder.at("grant/.ssh"), folder.at("ssh"));
      mkdirSync(folder.at("grant/.ssh"));
      writeFileSync(folder.at("grant/.ssh/id"), "secret");
    },
  },
  {
    name: "a place that is to be masked, made since",
    fits: false,
    make: (folder) => writeFileSync(folder.at("grant/project/.env"), "secret"),
  },
  {
    name: "a folder around what is read-only",
    fits: false,
    make: (folder) => {
      renameSync(folder.at("grant/project/.git"), folder.at("git"));
      mkdirSync(folder.at("grant/project/.git/hooks"), { recursive: true });
    },
  },
  {
    name: "the granted folder itself",
    fits: false,
    make: (folder) => {
      renameSync(folder.at("grant"), folder.at("other"));
      fill(folder);
    },
  },
];

/** Reads all that is covered, and tries to write what is read-only. */
function attack(folder: TemporaryFolder): string {
  const grant = folder.at("grant");
  return `cd ${grant}; cat .env .ssh/id project/.env; mv project/.git x; echo x > project/.git/hooks/pre-commit; cat plain; ls project/.git/hooks`;
}

for (const sandbox of SANDBOXES) {
  describe(`a box of ${sandbox.name} that waits for its call`, { skip: sandbox.skip }, () => {
    let home: TemporaryFolder;
    let runtime: Runtime;

    before(async () => {
      home = temporaryFolder();
      const opening = await sandbox.open(home.path, { shell_ms: SHELL_MS });
      assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
      runtime = opening.runtime;
    });

    after(async () => {
      await runtime[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    });

    const specOf = (folder: TemporaryFolder, command: string): RunSpec =>
      buildRunSpec(decideCall(runtime, { tool: "shell", arguments: { command }, paths: [folder.at("grant")] }));

    /** The answer, and how many calls had a box that waited. */
    async function run(spec: RunSpec): Promise<{ readonly outcome: RunOutcome; readonly served: number }> {
      const pool = poolOf(runtime);
      const served = pool.served;
      const outcome = await runtime.run(spec, { signal: new AbortController().signal });
      return { outcome, served: pool.served - served };
    }

    for (const { name, fits, make } of CHANGES) {
      test(`${fits ? "serves" : "is ended, and a new one serves,"} when this has changed: ${name}`, async () => {
        using folder = temporaryFolder();
        fill(folder);
        const command = attack(folder);
        await startAhead(runtime, specOf(folder, "true"));
        make(folder);
        const { outcome, served } = await run(specOf(folder, command));
        assert.ok(outcome.kind === "done" && outcome.status === "ok", JSON.stringify(outcome));
        assert.doesNotMatch(outcome.content, /secret/u);
        assert.match(outcome.content, /(?:first|second)\n?\[exit status 0\]$/u);
        assert.equal(served, fits ? 1 : 0);
      });
    }

    test("doesn't show what was unmounted while it waited", {
      skip: process.getuid?.() !== 0 && "needs root, to mount",
    }, async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("grant/volume"), { recursive: true });
      assert.equal(spawnSync("mount", ["-t", "tmpfs", "none", folder.at("grant/volume")]).status, 0);
      try {
        writeFileSync(folder.at("grant/volume/key"), "secret");
        await startAhead(runtime, specOf(folder, "true"));
      } finally {
        assert.equal(spawnSync("umount", [folder.at("grant/volume")]).status, 0);
      }
      const { outcome, served } = await run(specOf(folder, `ls ${folder.at("grant/volume")}`));
      assert.ok(outcome.kind === "done");
      assert.deepEqual([outcome.content, served], ["[exit status 0]", 0]);
    });

    test("serves one of two calls that come at once, and nothing of one is seen by the other or the next", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("grant"));
      const command = "ls -A /tmp; : > /tmp/left; export LEFT=1; sleep 600 & echo end";
      await startAhead(runtime, specOf(folder, command));
      const two = await Promise.all([
        run(specOf(folder, "ls -A /tmp; : > /tmp/left")),
        run(specOf(folder, "ls -A /tmp; echo two")),
      ]);
      assert.deepEqual(
        two.map(({ outcome }) => outcome.kind === "done" && outcome.content),
        ["[exit status 0]", "two\n[exit status 0]"],
      );
      const pool = poolOf(runtime);
      await until(() => pool.complete === 1);
      const third = await run(specOf(folder, "ls -A /tmp; env | grep -c LEFT; pgrep -c sleep"));
      assert.ok(third.outcome.kind === "done");
      assert.match(third.outcome.content, /^0\n/u);
      assert.equal(third.served, 1);
    });

    test("isn't used when it was killed meanwhile, nor when the grants have changed", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("grant"));
      const pool = poolOf(runtime);
      const marker = folder.at("grant");
      await startAhead(runtime, specOf(folder, "true"));
      assert.ok(countProcesses(marker) > 0);
      spawnSync("pkill", ["-KILL", "-f", marker]);
      await until(() => pool.waiting === 0);
      const killed = await run(specOf(folder, "echo cold"));
      assert.ok(killed.outcome.kind === "done", JSON.stringify(killed.outcome));
      assert.equal(killed.served, 0);
      await startAhead(runtime, specOf(folder, "true"));
      runtime.grantsChanged();
      assert.equal(pool.waiting, 0);
      await untilGone(marker);
    });

    test("that fetches has its session's proxy, and isn't used with another one", async () => {
      const fetching = {
        tool: "http_fetch",
        arguments: { url: "https://host.invalid/" },
        paths: [],
        hosts: ["host.invalid"],
      } as const;
      const pool = poolOf(runtime);
      const fetched = async (session: string): Promise<number> => {
        const { outcome, served } = await run(buildRunSpec(decideCall(runtime, { ...fetching, session })));
        assert.ok(outcome.kind === "done" && /Can't complete SOCKS5/u.test(outcome.content), JSON.stringify(outcome));
        return served;
      };
      runtime.grantsChanged();
      assert.equal(await fetched("one"), 0);
      await until(() => pool.complete === 1);
      assert.equal(await fetched("other"), 0);
      assert.equal(await fetched("one"), 1);
      await until(() => pool.complete > 0);
      runtime.grantsChanged();
      assert.equal(await fetched("one"), 0);
    });

    test("has its call's whole time, whenever that comes", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("grant"));
      // The box of an earlier test's call may be gone only now: none is to be started after it.
      runtime.grantsChanged();
      await startAhead(runtime, specOf(folder, "true"));
      const { outcome, served } = await run(specOf(folder, "sleep 600"));
      assert.deepEqual(outcome, { kind: "error", code: "timed_out", detail: `still running after ${SHELL_MS} ms` });
      assert.equal(served, 1);
      // What ended so isn't made again.
      assert.equal(poolOf(runtime).waiting, 0);
    });

    test("is gone when its runtime is", async () => {
      using folder = temporaryFolder();
      using own = temporaryFolder();
      mkdirSync(folder.at("grant"));
      const opening = await sandbox.open(own.path);
      assert.ok(opening.kind === "ready");
      await startAhead(opening.runtime, specOf(folder, "true"));
      await opening.runtime[Symbol.asyncDispose]();
      assert.equal(countProcesses(folder.at("grant")), 0);
    });

    test("is gone after a kill -9 and the next start", async () => {
      using folder = temporaryFolder();
      using own = temporaryFolder();
      mkdirSync(folder.at("grant"));
      const program = join(import.meta.dirname, "waiting-program.ts");
      const holder = spawn(process.execPath, [program, sandbox.name, own.path, folder.at("grant")], { stdio: "inherit" });
      const exited = once(holder, "exit");
      await Promise.race([untilThere(folder, "waits"), exited]);
      assert.ok(countProcesses(`${folder.at("grant")},dst`) > 0 || sandbox.name === "bubblewrap");
      assert.equal(holder.kill("SIGKILL"), true);
      await exited;
      const opening = await sandbox.open(own.path);
      assert.ok(opening.kind === "ready");
      await using next = opening.runtime;
      await untilGone(folder.at("grant"));
      assert.equal(poolOf(next).waiting, 0);
      rmSync(folder.at("waits"));
    });
  });
}
