/** Our programs, started with hostile words, paths, files and bytes: what they complain about can't steer the terminal they are started from. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { encodeFrame } from "@boxmaker/proto";
import { BAD_BYTES, findUnsafe, HOSTILE } from "../../packages/bxctl/test/support/corpus.ts";

/** All of them in one word, without the NUL and the slash that no argument or file name can hold. */
const WORD = HOSTILE.join("").replaceAll("\u0000", "").replaceAll("/", "");
/** As above, short enough to be a file's name. */
const NAME = "\u001b[2J\u001b]52;c;eA==\u0007\u009b31m\r\n\u202e\u200b\u2028\u{e0041}";
const DEADLINE_MS = 20_000;

interface Start {
  readonly program: string;
  readonly words: readonly string[];
  readonly input?: Buffer;
  readonly environment?: Readonly<Record<string, string>>;
}

async function printed({ program, words, input = Buffer.alloc(0), environment = {} }: Start): Promise<string> {
  const main = new URL(`../../packages/${program}/src/main.ts`, import.meta.url).pathname;
  const child = spawn(process.execPath, [main, ...words], {
    env: { PATH: process.env["PATH"], ...environment },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  // One that ends before it has read its input is no failure.
  child.stdin.on("error", () => undefined).end(input);
  await once(child, "close");
  assert.notEqual(child.exitCode, 0, `${program} took it:\n${text}`);
  return text;
}

function startsIn(folder: string): readonly (readonly [name: string, start: Start])[] {
  const home = join(folder, NAME);
  const file = (name: string, text: string | Buffer): string => {
    writeFileSync(join(home, name), text);
    return join(home, name);
  };
  const bad = Buffer.concat([Buffer.from('home = "'), ...BAD_BYTES, Buffer.from('"\n')]);
  const keys = `"${"\\u001b\\u202e"}" = 1\n[${JSON.stringify("x\u202ey")}]\n`;
  const configs = { missing: join(home, "none"), keys: file("keys.toml", keys), bytes: file("bytes.toml", bad) };
  const daemons = ["loopd", "brokerd"].flatMap((program) =>
    Object.entries(configs).map(
      ([what, config]) => [`${program} with a config, ${what}`, { program, words: ["serve", "--config", config] }] as const,
    ),
  );
  const run = encodeFrame(JSON.stringify({ v: 1, id: 1, final: true, kind: WORD, body: { [WORD]: WORD } }));
  return [
    ...daemons,
    ["brokerd with unknown words", { program: "brokerd", words: [WORD, `--${WORD}`] }],
    ["inferproxy with unknown words", { program: "inferproxy", words: [WORD, `--${WORD}`] }],
    [
      "inferproxy with a socket's path",
      { program: "inferproxy", words: ["--listen", join(configs.keys, "s"), "--upstream", "http://127.0.0.1:9"] },
    ],
    ["toolkit with unknown words", { program: "toolkit", words: [WORD] }],
    ["toolkit with a frame of another kind", { program: "toolkit", words: [], input: run }],
    ["toolkit with bytes", { program: "toolkit", words: [], input: Buffer.concat(BAD_BYTES) }],
    ["egress-proxy with unknown words", { program: "toolkit", words: ["egress-proxy", WORD, WORD] }],
    ["boxmaker with unknown words", { program: "boxmaker", words: [WORD] }],
    ["boxmaker doctor with a home", { program: "boxmaker", words: ["doctor", "--home", home] }],
    ["boxmaker try with a session", { program: "boxmaker", words: ["try", "--home", home, "--session", WORD] }],
    ["boxmaker image check", { program: "boxmaker", words: ["image", "check", `x${WORD}`], environment: { PATH: home } }],
    ["bxctl with unknown words", { program: "bxctl", words: [WORD] }],
    ["bxctl with a home", { program: "bxctl", words: ["sessions", "--home", home] }],
    ["bxctl with sockets", { program: "bxctl", words: ["chat", "--say", WORD, "--socket", home, "--admin-socket", home] }],
    ["bxctl with grants", { program: "bxctl", words: ["grants", "diff", home, join(home, "none")] }],
    ["bxctl with a log", { program: "bxctl", words: ["audit", "verify", "--home", home] }],
  ];
}

test("no program steers the terminal that it is started from, whatever it is started with", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-hostile-"));
  try {
    mkdirSync(join(folder, NAME));
    for (const [name, start] of startsIn(folder)) {
      await context.test(name, async () => {
        const text = await printed(start);
        assert.notEqual(text, "");
        const unsafe = findUnsafe(text);
        assert.equal(unsafe, undefined, `left ${JSON.stringify(unsafe)} in ${JSON.stringify(text)}`);
      });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
