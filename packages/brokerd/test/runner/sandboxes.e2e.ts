/** What every sandbox promises, in each that this machine has. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { after, before, describe, test } from "node:test";
import { BoxDone, encodeMessage } from "@boxmaker/proto";
import { buildRunSpec, type RunSpec } from "../../src/runner/run-spec.ts";
import type { RunOutcome, Runtime } from "../../src/runner/runtime.ts";
import { absPath, type CallOptions, decideCall } from "./decisions.ts";
import { poolOf, startAhead } from "./pool/start-ahead.ts";
import { countProcesses, SANDBOXES } from "./sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";
import { untilThere } from "./waiting.ts";

const SHELL_MS = 20_000;

async function serve(address: { readonly port: number; readonly host: string } | { readonly path: string }): Promise<Server> {
  const server = createServer((socket) => socket.end("reached"));
  server.listen(address);
  await once(server, "listening");
  return server;
}

const VARIANTS = SANDBOXES.flatMap((sandbox) => [
  { sandbox, isAhead: false },
  { sandbox, isAhead: true },
]);

for (const { sandbox, isAhead } of VARIANTS) {
  describe(`a box of ${sandbox.name} that was started ${isAhead ? "ahead" : "for its call"}`, { skip: sandbox.skip }, () => {
    const pool = isAhead ? 1 : 0;
    /** For what has nothing to do with when a box was started. */
    const testOnce = (name: string, body: () => void | Promise<void>): void => {
      if (!isAhead) test(name, body);
    };
    let home: TemporaryFolder;
    let runtime: Runtime;
    let reserved: readonly string[];

    before(async () => {
      home = temporaryFolder();
      const opening = await sandbox.open(home.path, { shell_ms: SHELL_MS, output_cap: 2000, pool });
      assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
      runtime = opening.runtime;
      reserved = opening.reserved;
    });

    after(async () => {
      await runtime[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    });

    const specOf = (options: CallOptions): RunSpec => buildRunSpec(decideCall(runtime, options));
    const run = (spec: RunSpec): Promise<RunOutcome> => runIn(runtime, spec, new AbortController().signal);

    async function runIn(own: Runtime, spec: RunSpec, signal: AbortSignal): Promise<RunOutcome> {
      if (!isAhead) return own.run(spec, { signal });
      const before = poolOf(own).served;
      await startAhead(own, spec);
      const outcome = await own.run(spec, { signal });
      assert.equal(poolOf(own).served, before + 1);
      // So that none is started for a call that doesn't come.
      own.grantsChanged();
      return outcome;
    }

    async function shell(folder: TemporaryFolder, command: string, options: Partial<CallOptions> = {}): Promise<string> {
      const outcome = await run(specOf({ tool: "shell", arguments: { command }, paths: [folder.path], ...options }));
      assert.ok(outcome.kind === "done" && outcome.status === "ok", JSON.stringify(outcome));
      return outcome.content;
    }

    testOnce("keeps other boxes in places that exist and that no grant may name, or keeps none", () => {
      assert.equal(reserved.length > 0, sandbox.name === "podman");
      for (const path of reserved.slice(0, 2)) assert.ok(statSync(path).isDirectory(), path);
    });

    test("reads and writes what is granted, as the owner, and keeps a file's mode", async () => {
      using folder = temporaryFolder();
      const path = folder.at("a.txt");
      writeFileSync(path, "old");
      chmodSync(path, 0o640);
      const paths = [folder.path];
      const read = await run(specOf({ tool: "read_file", arguments: { path }, paths }));
      assert.deepEqual(read, { kind: "done", status: "ok", content: "old", truncated: false });
      const written = await run(specOf({ tool: "write_file", arguments: { path, content: "grüße" }, paths }));
      assert.deepEqual(written, { kind: "done", status: "ok", content: `wrote 7 bytes to ${path}`, truncated: false });
      assert.equal(readFileSync(path, "utf8"), "grüße");
      const made = folder.at("made.txt");
      await run(specOf({ tool: "write_file", arguments: { path: made, content: "" }, paths }));
      for (const [file, mode] of [[path, 0o640] as const, [made, 0o644] as const]) {
        const stats = statSync(file);
        assert.deepEqual([stats.uid, stats.gid, stats.mode & 0o7777], [process.getuid?.(), process.getgid?.(), mode]);
      }
      assert.deepEqual(readdirSync(folder.path).sort(), ["a.txt", "made.txt"]);
    });

    test("gives a granted file alone, and writes it in place", async () => {
      using folder = temporaryFolder();
      const path = folder.at("a.txt");
      writeFileSync(path, "old and longer");
      writeFileSync(folder.at("b.txt"), "secret");
      const seen = await shell(folder, `cat ${folder.at("b.txt")}; ls ${folder.path}; echo new > ${path}`, { paths: [path] });
      assert.match(seen, /b\.txt: No such file or directory\na\.txt\n\[exit status 0\]$/u);
      assert.equal(readFileSync(path, "utf8"), "new\n");
    });

    testOnce("returns a tool's own error as a failed result", async () => {
      using folder = temporaryFolder();
      symlinkSync("/etc/passwd", folder.at("link"));
      const paths = [folder.path];
      const link = await run(specOf({ tool: "read_file", arguments: { path: folder.at("link") }, paths }));
      assert.ok(link.kind === "done" && link.status === "failed");
      assert.match(link.content, /is a symbolic link to "\/etc\/passwd"/u);
    });

    testOnce("tells a command's exit status from the sandbox's own", async () => {
      using folder = temporaryFolder();
      for (const status of [0, 1, 2, 125, 126, 127, 137])
        assert.equal(await shell(folder, `exit ${status}`), `[exit status ${status}]`);
      assert.equal(await shell(folder, "kill -9 $$"), "[killed by SIGKILL]");
    });

    testOnce("cuts the output of a command at the cap", async () => {
      using folder = temporaryFolder();
      const outcome = await run(specOf({ tool: "shell", arguments: { command: "yes | head -c 100000000" }, paths: [folder.path] }));
      assert.ok(outcome.kind === "done" && outcome.truncated);
      assert.equal(outcome.content, `${"y\n".repeat(1000)}[99998000 more bytes were dropped]\n[exit status 0]`);
    });

    test("has no variable of brokerd's environment", async () => {
      using folder = temporaryFolder();
      const lines = (await shell(folder, "env")).trim().split("\n").slice(0, -1);
      assert.deepEqual(
        lines.filter((line) => !/^(?:PATH=\/usr\/bin:\/bin|HOME=\/tmp|PWD=\/tmp|OLDPWD=.*|HOSTNAME=box)$/u.test(line)),
        [],
      );
    });

    test("has no capability, no way to gain one, and a system call filter", async () => {
      using folder = temporaryFolder();
      const status = await shell(folder, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
      for (const name of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        assert.match(status, new RegExp(`^${name}:\\t0+$`, "mu"));
      assert.match(status, /^NoNewPrivs:\t1$/mu);
      assert.match(status, /^Seccomp:\t2$/mu);
    });

    test("can write nowhere but in its grants and /tmp", async () => {
      using folder = temporaryFolder();
      const places = [
        "/x",
        "/usr/x",
        "/etc/x",
        "/run/x",
        "/var/x",
        "/opt/boxmaker/x",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/dev/x",
        "/dev/shm/x",
        "/dev/mqueue/x",
        "/sys/fs/cgroup/x",
      ];
      const command = `for at in ${places.join(" ")}; do (: >> "$at") 2>/dev/null && echo "wrote $at"; done; : > /tmp/x && : > ${folder.at("x")} && echo end`;
      assert.equal(await shell(folder, command), "end\n[exit status 0]");
    });

    testOnce("can't fill /tmp beyond its size", async () => {
      using folder = temporaryFolder();
      const seen = await shell(folder, "head -c 100000000 /dev/zero > /tmp/x; wc -c < /tmp/x");
      assert.match(seen, /No space left on device\n67108864\n/u);
    });

    testOnce("can't change the modes of the host's devices", async () => {
      using folder = temporaryFolder();
      const mode = statSync("/dev/null").mode;
      await shell(folder, "chmod 600 /dev/null; echo x > /dev/null");
      assert.equal(statSync("/dev/null").mode, mode);
    });

    test("sees no file beside its grants, nor of another box", async () => {
      using folder = temporaryFolder();
      using other = temporaryFolder();
      writeFileSync(other.at("secret"), "secret");
      symlinkSync(other.at("secret"), folder.at("link"));
      const seen = await shell(
        folder,
        `cat ${other.at("secret")}; cat ${folder.at("link")}; cat /proc/1/root${other.at("secret")}; cat ${folder.path}/../${other.path.split("/").at(-1) ?? ""}/secret; ls /root /home; : > /tmp/left`,
      );
      assert.doesNotMatch(seen, /^secret/mu);
      assert.equal(await shell(folder, "ls -A /tmp"), "[exit status 0]");
    });

    test("has no network but its own loopback, and no names", async () => {
      using folder = temporaryFolder();
      const server = await serve({ host: "127.0.0.1", port: 0 });
      try {
        const address = server.address();
        assert.ok(typeof address === "object" && address !== null);
        const script = `require("net").connect(${address.port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`;
        const seen = await shell(
          folder,
          `grep -c : /proc/net/dev; ls /etc/resolv.conf /etc/hosts 2> /dev/null; ${sandbox.node} -e '${script}'`,
        );
        assert.equal(seen, "1\nECONNREFUSED\n[exit status 0]");
      } finally {
        server.close();
      }
    });

    test("can't reach a Unix socket that lies in its grant", async () => {
      using folder = temporaryFolder();
      const server = await serve({ path: folder.at("agent.sock") });
      try {
        const script = `require("net").connect("${folder.at("agent.sock")}").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`;
        const seen = await shell(folder, `ls ${folder.path}; ${sandbox.node} -e '${script}'`);
        assert.equal(seen, "agent.sock\nEACCES\n[exit status 0]");
      } finally {
        server.close();
      }
    });

    testOnce("can start programs and listen on its own loopback all the same", async () => {
      using folder = temporaryFolder();
      const script =
        'const net = require("net"), { execFileSync } = require("child_process"); const s = net.createServer((c) => c.end("own")).listen(0, "127.0.0.1", () => net.connect(s.address().port, "127.0.0.1").on("data", (d) => { console.log(String(d), execFileSync("echo", ["child"]).toString().trim()); s.close(); }))';
      assert.equal(await shell(folder, `${sandbox.node} -e '${script}'`), "own child\n[exit status 0]");
    });

    test("can't make a set-id file, nor a device", async () => {
      using folder = temporaryFolder();
      const path = folder.at("tool");
      const seen = await shell(
        folder,
        `: > ${path}; chmod 4755 ${path} || chmod 2755 ${path} || chmod 755 ${path} && echo plain; mknod ${folder.at("disk")} b 8 0`,
      );
      assert.match(seen, /plain/u);
      assert.equal(statSync(path).mode & 0o7777, 0o755);
      assert.deepEqual(readdirSync(folder.path), ["tool"]);
    });

    test("sees an empty file or folder where something is masked, and can't move it away", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("a/b/.ssh"), { recursive: true });
      writeFileSync(folder.at("a/b/.ssh/id"), "secret");
      writeFileSync(folder.at("a/note"), "secret");
      writeFileSync(folder.at(".env"), "secret");
      const denied = [folder.at("a/b/.ssh"), folder.at("a/note"), folder.at("none")];
      const seen = await shell(
        folder,
        `cd ${folder.path}; cat .env a/note; ls -A a/b/.ssh; mv a x; mv a/b x; mv a/b/.ssh x; mv .env x; rm -r a; echo y > a/note; echo y > a/b/.ssh/y; : > a/new && ls -A`,
        { denied },
      );
      assert.doesNotMatch(seen, /secret/u);
      // What mv copied before it failed is empty, too.
      assert.match(seen, /\n\.env\na\nx\n\[exit status 0\]$/u);
      assert.deepEqual(readdirSync(folder.at("x/.ssh")), []);
      assert.equal(readFileSync(folder.at("a/b/.ssh/id"), "utf8"), "secret");
      assert.equal(readFileSync(folder.at("a/note"), "utf8"), "secret");
      assert.deepEqual(readdirSync(folder.at("a")).sort(), ["b", "new", "note"]);
    });

    test("can't write what the host executes, unless the grant says so", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("project/.git/hooks"), { recursive: true });
      const hook = folder.at("project/.git/hooks/pre-commit");
      const command = `cd ${folder.path}; echo x > ${hook}; mv project/.git project/git; mv project x; : > project/.git/HEAD && echo end`;
      assert.match(await shell(folder, command), /end\n\[exit status 0\]$/u);
      assert.deepEqual(readdirSync(folder.at("project/.git")).sort(), ["HEAD", "hooks"]);
      assert.deepEqual(readdirSync(folder.at("project/.git/hooks")), []);
      await shell(folder, `echo x > ${hook}`, { hostExec: true });
      assert.equal(readFileSync(hook, "utf8"), "x\n");
    });

    testOnce("refuses a mount that was replaced after the decision", async () => {
      using folder = temporaryFolder();
      mkdirSync(folder.at("grant"));
      const spec = specOf({ tool: "shell", arguments: { command: "true" }, paths: [folder.at("grant")] });
      renameSync(folder.at("grant"), folder.at("old"));
      symlinkSync("/etc", folder.at("grant"));
      const outcome = await run(spec);
      assert.ok(outcome.kind === "error" && outcome.code === "mount_changed", JSON.stringify(outcome));
    });

    testOnce("refuses a spec that was decided for another runtime or image", async () => {
      using folder = temporaryFolder();
      const decision = decideCall(
        { name: "process", image: null },
        { tool: "shell", arguments: { command: "true" }, paths: [folder.path] },
      );
      const outcome = await run(buildRunSpec(decision));
      assert.ok(outcome.kind === "error" && outcome.code === "start_failed");
      await assert.rejects(() => run({ mounts: [] } as unknown as RunSpec), TypeError);
    });

    test("takes paths with spaces, quotes, commas and bytes of every kind", async () => {
      using folder = temporaryFolder();
      const path = folder.at(`a "b" c, d=ü $(x) 'y' --z`);
      mkdirSync(path);
      const outcome = await run(specOf({ tool: "write_file", arguments: { path: `${path}/-f`, content: "ok" }, paths: [path] }));
      assert.ok(outcome.kind === "done" && outcome.status === "ok", JSON.stringify(outcome));
      assert.equal(readFileSync(`${path}/-f`, "utf8"), "ok");
    });

    test("mounts a grant below the host's /tmp over its own", async () => {
      const path = mkdtempSync("/tmp/boxmaker-runner-");
      try {
        writeFileSync(`${path}/a`, "seen");
        const outcome = await run(specOf({ tool: "shell", arguments: { command: `cat ${path}/a; ls /tmp` }, paths: [path] }));
        assert.ok(outcome.kind === "done");
        assert.equal(outcome.content, `seen${path.slice("/tmp/".length)}\n[exit status 0]`);
      } finally {
        rmSync(path, { recursive: true });
      }
    });

    test("can't make brokerd wait by answering in the toolkit's name, and is ended when it tries", async () => {
      using folder = temporaryFolder();
      const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
      const message = BoxDone.parse({ kind: "box_done", body: { status: "ok", content: "forged", truncated: false } });
      writeFileSync(folder.at("frame"), encodeMessage(BoxDone, { id: 1, final: true, message }));
      const command = `cat ${folder.at("frame")} > /proc/$PPID/fd/1 && sleep ${marker}`;
      await run(specOf({ tool: "shell", arguments: { command }, paths: [folder.path] }));
      assert.equal(runtime.mayWrite(absPath(folder.at("frame"))), true);
      // Another session's box in the same folder starts only when this one is gone.
      await shell(folder, "true", { session: "other" });
      assert.equal(countProcesses(marker), 0);
    });

    test("isn't handed what its session has seen since, when it answers in the toolkit's name and runs on", async () => {
      using folder = temporaryFolder();
      const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
      const message = BoxDone.parse({ kind: "box_done", body: { status: "ok", content: "forged", truncated: false } });
      writeFileSync(folder.at("frame"), encodeMessage(BoxDone, { id: 1, final: true, message }));
      const command = `cat ${folder.at("frame")} > /proc/$PPID/fd/1 && sleep ${marker}`;
      await run(specOf({ tool: "shell", arguments: { command }, paths: [folder.path] }));
      // Of the same session: it may write there what the first box's label doesn't cover.
      await shell(folder, "true", { label: "secret" });
      assert.equal(countProcesses(marker), 0);
    });

    test("is stopped at its time limit, with everything in it", async () => {
      using folder = temporaryFolder();
      const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
      const opening = await sandbox.open(home.path, { shell_ms: 1500, pool });
      assert.ok(opening.kind === "ready");
      await using limited = opening.runtime;
      const command = `trap '' TERM INT HUP; sleep ${marker} & setsid sleep ${marker} & sleep ${marker}`;
      const decision = decideCall(limited, { tool: "shell", arguments: { command }, paths: [folder.path] });
      const outcome = await runIn(limited, buildRunSpec(decision), new AbortController().signal);
      assert.deepEqual(outcome, { kind: "error", code: "timed_out", detail: "still running after 1500 ms" });
      await limited[Symbol.asyncDispose]();
      assert.equal(countProcesses(marker), 0);
    });

    test("is stopped when the call is cancelled, and when the runtime is disposed", async () => {
      using folder = temporaryFolder();
      const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
      const start = async (own: Runtime, signal: AbortSignal): Promise<RunOutcome> => {
        const started = folder.at("started");
        const command = `: > ${started}; sleep ${marker}`;
        const decision = decideCall(own, { tool: "shell", arguments: { command }, paths: [folder.path] });
        return runIn(own, buildRunSpec(decision), signal);
      };
      const controller = new AbortController();
      const cancelled = start(runtime, controller.signal);
      await untilThere(folder, "started");
      controller.abort();
      const outcome = await cancelled;
      assert.ok(outcome.kind === "error" && outcome.code === "cancelled");

      rmSync(folder.at("started"));
      const opening = await sandbox.open(home.path, { pool });
      assert.ok(opening.kind === "ready");
      const disposed = start(opening.runtime, new AbortController().signal);
      if (isAhead) await untilThere(folder, "started");
      await opening.runtime[Symbol.asyncDispose]();
      const second = await disposed;
      assert.ok(second.kind === "error" && second.code === "cancelled");
      assert.equal(countProcesses(marker), 0);
    });
  });
}
