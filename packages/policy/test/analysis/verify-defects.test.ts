/** verify() asks the rules themselves: where these are wrong, it says which theorem fails, and how to get there. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { verify as verifyByRules } from "../../src/analysis/index.ts";
import { DEFECTS } from "../theorems/defects.ts";
import { grantText, NOW, setOf } from "./support.ts";

const SOURCES = path.join(import.meta.dirname, "../../src");
const MODULES = path.join(import.meta.dirname, "../../../../node_modules");

type Verify = typeof verifyByRules;

function isVerify(value: unknown): value is { readonly verify: Verify } {
  return typeof value === "object" && value !== null && "verify" in value && typeof value.verify === "function";
}

const NOTES = {
  notes: grantText("read_file", "auto", ["/srv/notes"]),
  keys: grantText("read_file", "auto", ["/srv/keys"], 'label = "secret"'),
};

/** By a defect's name: the theorem that it breaks, and grants that show it. */
const CASES = [
  {
    defect: "an ask restricts only while it permits",
    theorem: "T1",
    texts: {
      ...NOTES,
      careful: grantText("http_fetch", "ask", ["example.com"], 'max_taint = "public"'),
      web: grantText("http_fetch", "auto", ["example.com"], 'max_taint = "private"'),
    },
    trace: ["read_file /srv/notes"],
  },
  {
    defect: "a grant's max_taint is ignored",
    theorem: "T2",
    texts: { ...NOTES, web: grantText("http_fetch", "auto", ["example.com"], "untrusted = false") },
    trace: ["read_file /srv/notes"],
  },
  {
    defect: "if_untrusted is ignored",
    theorem: "T3",
    texts: { ...NOTES, web: grantText("http_fetch", "auto", ["example.com"]) },
    trace: ["http_fetch example.com"],
  },
  {
    defect: "what is approved isn't compared",
    theorem: "T4",
    texts: { ...NOTES, work: grantText("shell", "ask", ["/srv/work"]) },
    // None of these grants brings a stranger's words into a session: only one that starts so could come there.
    trace: null,
  },
  {
    defect: "a box has read nothing of what it mounts",
    theorem: "T5",
    texts: { ...NOTES, work: grantText("shell", "auto", ["/srv/work"], 'label = "public"', 'max_taint = "secret"') },
    trace: [],
  },
] as const;

describe("verify(), by rules with a defect,", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "boxmaker-verify-"));
    await writeFile(path.join(folder, "package.json"), JSON.stringify({ type: "module" }));
    await symlink(MODULES, path.join(folder, "node_modules"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function load(name: string): Promise<Verify> {
    const defect = DEFECTS.find((each) => each.name === name);
    assert.ok(defect !== undefined, name);
    const copy = path.join(folder, String(DEFECTS.indexOf(defect)));
    await cp(SOURCES, copy, { recursive: true });
    const file = path.join(copy, "rules", defect.file);
    const text = await readFile(file, "utf8");
    await writeFile(
      file,
      text.replace(defect.text, () => defect.instead),
    );
    const loaded: unknown = await import(pathToFileURL(path.join(copy, "analysis/index.ts")).href);
    return isVerify(loaded) ? loaded.verify : assert.fail("expected verify");
  }

  for (const { defect, theorem, texts, trace } of CASES) {
    test(`says that ${theorem} fails where ${defect}`, async () => {
      const { holds, theorems } = (await load(defect))(setOf(texts), NOW);
      const failed = theorems.find(({ id }) => id === theorem);
      assert.equal(holds, false);
      assert.ok(failed !== undefined && failed.failure !== null, JSON.stringify(theorems));
      assert.deepEqual(failed.failure.trace?.map(({ tool, target }) => `${tool} ${target}`) ?? null, trace);
    });
  }
});
