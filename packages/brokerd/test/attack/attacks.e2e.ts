/** Every attack holds in each sandbox of this machine, and gets through once the one defence against it is taken away. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { AttackName, BoxKind, Finding } from "../../src/attack/finding.ts";
import { SANDBOXES, toolsImage } from "../runner/sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "../runner/temporary-folder.ts";
import type { Edit } from "./edit.ts";
import { ONE_BOX, SABOTAGES, TOGETHER } from "./sabotages.ts";

const BROKERD = join(import.meta.dirname, "..", "..", "src", "main.ts");
const SABOTAGED = join(import.meta.dirname, "sabotaged-program.ts");
const TOOLKIT = join(import.meta.dirname, "..", "..", "..", "toolkit", "dist", "toolkit.mjs");

interface Attacked {
  readonly status: number | null;
  readonly findings: readonly Finding[];
  readonly errors: string;
}

async function attack(config: string, only: readonly AttackName[], edits?: readonly Edit[]): Promise<Attacked> {
  const program = edits === undefined ? [BROKERD] : [SABOTAGED, JSON.stringify(edits)];
  const names = only.flatMap((name) => ["--only", name]);
  const child = spawn(process.execPath, [...program, "attack", "--config", config, ...names], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const findings = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Finding.parse(JSON.parse(line)));
  return { status: await ended, findings, errors };
}

function withResult(result: Finding["result"], findings: readonly Finding[]): string[] {
  return findings.filter((finding) => finding.result === result).map(({ attack: name }) => name);
}

for (const sandbox of SANDBOXES) {
  describe(`attacks on a box of ${sandbox.name}`, { skip: sandbox.skip }, () => {
    let folder: TemporaryFolder;
    let runner: Readonly<Record<string, string>>;

    before(() => {
      folder = temporaryFolder();
      const limits = sandbox.name === "podman" && process.getuid?.() === 0 ? "enforced" : "unenforced";
      runner = { runtime: sandbox.name, limits, ...(sandbox.name === "podman" ? { image: toolsImage() } : {}) };
    });

    after(() => folder[Symbol.dispose]());

    function configure(name: string, more: Readonly<Record<string, string | number>> = {}): string {
      const lines = Object.entries({ ...runner, ...more }).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
      writeFileSync(folder.at(name), `home = ${JSON.stringify(folder.path)}\n[runner]\n${lines.join("")}`);
      return folder.at(name);
    }

    test("hold, every one that can be shown here, on boxes that start for their call and on boxes that waited", async () => {
      const { status, findings, errors } = await attack(configure("all.toml"), []);
      assert.deepEqual(
        findings.filter(({ result }) => result === "failed"),
        [],
        errors,
      );
      assert.equal(status, 0);
      for (const kind of BoxKind.options) {
        const names = findings.filter(({ box }) => box === kind).map(({ attack: name }) => name);
        assert.deepEqual(names.sort(), [...AttackName.options].sort());
      }
      const skipped = findings.filter(({ result }) => result === "skipped");
      assert.ok(skipped.every(({ seen }) => seen !== ""));
    });

    test("get through in a box that waited, too, where the defences are gone", async () => {
      const through = TOGETHER.flatMap((sabotage) => sabotage.through).sort();
      const edits = TOGETHER.flatMap(({ edits: all }) => {
        const own = all[sandbox.name];
        return typeof own === "string" ? [] : own;
      });
      const { findings, errors } = await attack(configure("waiting.toml"), through, edits);
      for (const kind of BoxKind.options) {
        const ofKind = findings.filter(({ box }) => box === kind);
        assert.deepEqual(withResult("failed", ofKind).sort(), through, errors || JSON.stringify(findings));
      }
      assert.ok(findings.every(({ seen }) => !seen.includes("couldn't be tried")));
    });

    test("aren't taken for held on a box that waited where none has served", async () => {
      const edit = {
        file: "runner/pool/box-pool.ts",
        from: "const box = this.#waiting.get(key);",
        to: "if (key !== null) return undefined;\n    const box = this.#waiting.get(key);",
      };
      const { findings } = await attack(configure("waiting.toml"), ["outside-paths", "read-links"], [edit]);
      const results = findings.map(({ attack: name, box, result, seen }) => `${box} ${name}: ${result}, ${seen}`);
      assert.deepEqual(
        results.filter((line) => line.startsWith("waiting")),
        ["outside-paths", "read-links"].map(
          (name) => `waiting ${name}: failed, it couldn't be tried: no box that waited has served the call`,
        ),
        results.join("\n"),
      );
    });

    test("aren't taken for held where they weren't carried out", {
      skip: process.getuid?.() !== 0 && "needs root for a network of the attacks' own",
    }, async () => {
      const edits = [
        { file: "attack/network-target.ts", from: "urls.map((url)", to: "urls.slice(2).map((url)" },
        { file: "attack/network-attacks.ts", from: "return `${NODE} -e", to: "return `/nowhere/node -e" },
      ];
      const only = ["private-names", "redirects", "userinfo", "host-network", "dns", "unix-sockets"] as const;
      const { findings } = await attack(configure("one.toml", { pool: 0 }), only, edits);
      assert.deepEqual(withResult("failed", findings).sort(), [...only].sort());
      assert.ok(findings.every(({ seen }) => seen.includes("couldn't be tried")));
    });

    test("aren't taken for held by a box that hasn't got what is granted", async () => {
      const edit = { file: "runner/layers.ts", from: "layers: all.sort(", to: "layers: [].sort(" };
      const { findings } = await attack(configure("one.toml", { pool: 0 }), ["credentials", "make-set-id", "git-hooks"], [edit]);
      assert.deepEqual(
        findings.map(({ seen }) => seen),
        ["credentials", "git-hooks", "make-set-id"].map(() => "it couldn't be tried: the box hasn't what is granted"),
      );
    });

    for (const { without, through, only: tried, config = {}, edits: all, toolkit } of SABOTAGES) {
      const edits = all[sandbox.name];
      // podman takes half a second a box: there the attacks that are known to get through are tried beside a few others.
      const beside = sandbox.name === "podman" ? ONE_BOX.filter((name, index) => through.includes(name) || index < 2) : ONE_BOX;
      const only = tried ?? beside;
      const skip =
        typeof edits === "string"
          ? edits
          : through.includes("run-set-id") && process.getuid?.() !== 0 && "needs root for another user's file";
      test(`without ${without}, ${through.join(", ")} and nothing else is found`, { skip }, async () => {
        assert.ok(typeof edits !== "string");
        const { status, findings, errors } =
          toolkit === undefined
            ? await attack(configure("one.toml", { pool: 0, ...config }), only, edits)
            : await attackToolkit(only, edits, toolkit);
        assert.deepEqual(
          [withResult("failed", findings).sort(), status],
          [[...through].sort(), 1],
          errors || JSON.stringify(findings),
        );
      });
    }

    async function attackToolkit(
      only: readonly AttackName[],
      edits: readonly Edit[],
      changes: readonly Omit<Edit, "file">[],
    ): Promise<Attacked> {
      let source = readFileSync(TOOLKIT, "utf8");
      for (const { from, to } of changes) {
        assert.ok(source.includes(from), from);
        source = source.replace(from, () => to);
      }
      const path = folder.at("toolkit.mjs");
      writeFileSync(path, source, { mode: 0o644 });
      if (sandbox.name === "bubblewrap") return attack(configure("one.toml", { toolkit: path, pool: 0 }), only, edits);
      const mount = `"--mount=type=bind,src=${path},dst=/opt/boxmaker/toolkit.mjs,ro", `;
      const over = ["];", "  ...proxyCommand(hosts),"].map((end) => {
        const from = `boxes.image,\n    ...IMAGE_COMMAND,\n  ${end}`;
        return { file: "runner/podman/podman-arguments.ts", from, to: `${mount}${from}` };
      });
      return attack(configure("one.toml", { pool: 0 }), only, [...edits, ...over]);
    }
  });
}
