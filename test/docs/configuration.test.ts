/** What the documentation shows of `tools.toml` and `labels.toml` is valid. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setFromTexts } from "@boxmaker/policy/grants";

const TEXT = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");

function exampleOf(name: string): string {
  const section = TEXT.split(/^## /mu).find((part) => part.startsWith(`${name}\n`)) ?? "";
  const [, example] = /```toml\n(.*?)```/su.exec(section) ?? [];
  return example ?? assert.fail(`no example of ${name}`);
}

test("docs/configuration.md shows a tools.toml and a labels.toml that are valid together", () => {
  const given = ["tools.toml", "labels.toml"].map((name) => ({ file: `etc/${name}`, text: exampleOf(name) }));
  const set = setFromTexts(given, []);
  assert.ok(set.kind === "valid", JSON.stringify(set));
  assert.deepEqual([...(set.otherwise?.keys() ?? [])], ["read_file", "http_fetch"]);
  assert.equal(set.labels?.length, 2);
});
